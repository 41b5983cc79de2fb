import { randomUUID } from 'node:crypto';
import { median, quantile } from '../statistics.mjs';
import { Buyer } from './buyers.mjs';
import { readOrders } from './orders.mjs';

/**
 * One sale: so many buyers at once, spread over the instances, for so many pieces of one item.
 *
 * @param during is called once the buyers are on their way; what it returns becomes part of the result
 */
export async function sale({ name, path, shops, stock, buyerCount, file, during = () => ({}) }) {
  const item = `item-${randomUUID()}`;
  await putStock(shops[0], item, stock);
  const buyers = Array.from({ length: buyerCount }, (_, index) => new Buyer(index));
  const [extra] = await Promise.all([during(item), ...buyers.map((buyer) => buyer.buy(shops, path + item))]);

  const orders = await readOrders(file, item);
  const told = buyers.filter(({ outcome }) => outcome === 'sold');
  const count = (outcome) => buyers.filter((buyer) => buyer.outcome === outcome).length;
  const waits = buyers.map(({ wait }) => wait);
  const result = {
    name,
    stock,
    buyers: buyerCount,
    sold: orders.length,
    oversold: Math.max(0, orders.length - stock),
    refused: count('refused'),
    failed: buyerCount - told.length - count('refused'),
    waitMs: { p50: Math.round(median(waits)), p99: Math.round(quantile(waits, 0.99)) },
    instances: shops.map((shop) => ({
      name: shop.name,
      answered: buyers.filter((buyer) => buyer.shop === shop && buyer.outcome !== 'no answer').length,
      sold: orders.filter(({ soldBy }) => soldBy === shop.name).length,
    })),
    ...extra,
  };
  return { result, buyers, told, orders, item, problems: [...disagreements(name, told, orders, buyers)] };
}

/** What the buyers were told against what the database has. */
function* disagreements(name, told, orders, buyers) {
  const sold = new Set(orders.map(({ purchaseId }) => purchaseId));
  const unfounded = told.filter(({ purchaseId }) => !sold.has(purchaseId)).length;
  if (unfounded > 0) yield `${name}: ${unfounded} buyers were told of a purchase that is not in the database`;
  const untold = orders.length - (told.length - unfounded);
  if (untold > 0) yield `${name}: ${untold} orders are in the database whose buyers were not told`;
  const failures = new Set(buyers.map(({ outcome }) => outcome).filter((it) => it !== 'sold' && it !== 'refused'));
  if (failures.size > 0) yield `${name}: some buyers got no proper answer (${[...failures].join(', ')})`;
}

async function putStock(shop, item, count) {
  const response = await fetch(`${shop.url}/stock/${item}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ count }),
  });
  if (!response.ok) throw new Error(`${shop.name} did not take the stock in: status ${response.status}`);
}
