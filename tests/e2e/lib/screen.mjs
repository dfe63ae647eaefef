// A screen of its own for a browser with windows (Xvfb), and a hand that clicks on it (xdotool).
import { spawn, spawnSync } from 'node:child_process';
import { until } from './until.mjs';

const missing = ['Xvfb', 'xdotool'].filter((name) => spawnSync('which', [name]).status !== 0);

/** For tests that need one: `test(name, needsScreen, fn)`. */
export const needsScreen = { skip: missing.length > 0 && `needs ${missing.join(' and ')}` };

/** Flags that put the window where clicks are meant for. */
export const WINDOW = ['--test-type', '--window-position=0,0', '--window-size=1100,750'];

export class Screen {
  /** Its files lie below `root`. */
  static async start(root) {
    const screen = new Screen();
    screen.child = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1200x800x24', '-nolisten', 'tcp', '-fbdir', root], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
    let display = '';
    screen.child.stdio[3].on('data', (data) => { display += data; });
    // Xvfb says on which display.
    await until('a screen', () => display.endsWith('\n'));
    screen.env = { DISPLAY: `:${display.trim()}` };
    return screen;
  }

  click(x, y) {
    spawnSync('xdotool', ['mousemove', String(x), String(y), 'click', '1'], { env: { ...process.env, ...this.env } });
  }

  /** Presses Cancel on the infobar until `done`: it stands to the right of the text, wherever the fonts put it. */
  async cancel(done) {
    let x = 560;
    await until('the cancel', () => {
      this.click(x, 115);
      x = x < 900 ? x + 30 : 560;
      return done();
    }, 15_000, 150);
  }

  stop() {
    this.child.kill();
  }
}
