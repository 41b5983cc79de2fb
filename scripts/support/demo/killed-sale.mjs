import { readOrders } from './orders.mjs';
import { sale } from './sale.mjs';

const HOLD_LIMIT = 15_000;

/** A locked sale during which the last instance is killed while it holds the lock, in the middle of a purchase. */
export async function killedSale(options) {
  const { name, path, shops, stock, file } = options;
  const victim = shops.at(-1);
  const survivors = shops.slice(0, -1);
  let holder;
  let killedAt;
  const { result, told, orders, item, problems, buyers } = await sale({
    ...options,
    during: async (item) => {
      await victim.tells('stuck', HOLD_LIMIT);
      holder = await holderOf(item, survivors[0]);
      await victim.kill();
      killedAt = performance.now();
      return { killed: victim.name, heldTheLock: holder === victim.name };
    },
  });
  result.secondsAfterKill = Number(((performance.now() - killedAt) / 1000).toFixed(2));
  result.retried = buyers.filter(({ tries }) => tries > 1).length;

  // Buyers who did not trust the answer ask once more, elsewhere.
  const repeats = await Promise.all(
    told.map((buyer, index) => buyer.repeat(survivors[index % survivors.length], path + item)),
  );
  const after = await readOrders(file, item);
  result.repeated = repeats.length;
  result.doubled = after.length - orders.length;

  if (!result.heldTheLock)
    problems.push(`${name}: ${victim.name} did not hold the lock when it was killed, but ${holder}`);
  if (result.sold !== stock) problems.push(`${name}: the sale did not complete: ${result.sold} of ${stock} were sold`);
  if (result.doubled > 0) problems.push(`${name}: ${result.doubled} repeated purchases were sold again`);
  if (repeats.some(({ status, order }, index) => status !== 201 || order.purchaseId !== told[index].purchaseId)) {
    problems.push(`${name}: a repeated purchase got another answer than the first time`);
  }
  return { result, problems };
}

async function holderOf(item, shop) {
  const response = await fetch(`${shop.url}/locks/${encodeURIComponent(`stock:${item}`)}`);
  return (await response.json()).holder;
}
