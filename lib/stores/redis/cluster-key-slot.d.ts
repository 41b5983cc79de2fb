declare module 'cluster-key-slot' {
  /** The slot of a cluster in which a key stands: the CRC-16 of its hash tag. */
  export default function keySlot(key: string | Buffer): number;
}
