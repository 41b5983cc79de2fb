/** One line of what a node says of the cluster. */
export interface ClusterLine {
  readonly id: string;
  readonly flags: readonly string[];
  /** Whom it replicates. */
  readonly master: string | undefined;
  readonly epoch: number;
  /** First and last slot of each range. */
  readonly ranges: readonly (readonly [first: number, last: number])[];
  /** Slots on the way to or from the node that says so. */
  readonly moving: readonly string[];
}

/** What CLUSTER NODES answers. */
export function parseView(text: string): ClusterLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(parse);
}

export function serves({ ranges }: ClusterLine, slot: number): boolean {
  return ranges.some(([first, last]) => first <= slot && slot <= last);
}

export function slotsOf({ ranges }: ClusterLine): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

/** Who serves what and who follows whom, in a form that can be compared. */
export function summary(view: readonly ClusterLine[]): string {
  const lines = view.filter(({ flags }) => !flags.some((flag) => flag === 'fail' || flag === 'fail?'));
  return lines
    .map(({ id, master, ranges }) => `${id.slice(0, 8)} ${master?.slice(0, 8) ?? ranges.join(' ')}`)
    .sort()
    .join(', ');
}

function parse(line: string): ClusterLine {
  const [id = '', , flags = '', master, , , epoch, , ...slots] = line.split(' ');
  const ranges = slots.filter((slot) => !slot.startsWith('['));
  return {
    id,
    flags: flags.split(','),
    master: master === '-' ? undefined : master,
    epoch: Number(epoch),
    ranges: ranges.map((range) => {
      const [first = '', last = first] = range.split('-');
      return [Number(first), Number(last)] as const;
    }),
    moving: slots.filter((slot) => slot.startsWith('[')),
  };
}
