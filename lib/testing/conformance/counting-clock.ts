import { systemClock, type Clock } from '../../contract/index.js';

/** The system's clock, with a count of the timers that are set. */
export class CountingClock implements Clock {
  timers = 0;

  now(): number {
    return systemClock.now();
  }

  after(...[delay, callback, keepAlive]: Parameters<Clock['after']>): ReturnType<Clock['after']> {
    let counted = true;
    const end = () => {
      if (counted) this.timers -= 1;
      counted = false;
    };
    this.timers += 1;
    const timer = systemClock.after(
      delay,
      () => {
        end();
        callback();
      },
      keepAlive,
    );
    return {
      cancel: () => {
        end();
        timer.cancel();
      },
    };
  }
}
