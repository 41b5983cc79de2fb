/** Lines up rows of texts and numbers; the first column to the left, the others to the right. */
export function table(head, rows) {
  const lines = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const text = lines.map((line) =>
    line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join('   '),
  );
  text.splice(1, 0, widths.map((width) => '─'.repeat(width)).join('   '));
  return text.map((line) => line.trimEnd()).join('\n');
}
