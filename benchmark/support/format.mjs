export const us = (value) => `${value.toFixed(value < 10 ? 2 : 1)} µs`;
export const ms = (value) => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
export const times = (value) => `${value.toFixed(2)} ×`;
export const index = (value) => value.toFixed(3);
export const mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
