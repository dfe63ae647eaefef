// Plain HTTP requests with full control over method, path and headers (fetch hides Host and Origin).
import { request } from 'node:http';

export function http(base, path, { method = 'GET', headers = {}, body } = {}) {
  // An endpoint may carry a path of its own (/b/NAME, /t/TOKEN).
  const { hostname, port, pathname } = new URL(base);
  const prefix = pathname.replace(/\/$/, '');
  return new Promise((resolve, reject) => {
    const req = request({ host: hostname, port, path: prefix + path, method, headers, agent: false }, (res) => {
      const chunks = [];
      res.on('data', (chunk) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: res.statusCode, headers: res.headers, text, json: () => JSON.parse(text) });
      });
    });
    req.on('error', reject);
    req.end(body);
  });
}

export const getJson = async (base, path, options) => (await http(base, path, options)).json();

/** The stable ws:// URL of the browser behind `base`. */
export const browserWs = async (base) => (await getJson(base, '/json/version')).webSocketDebuggerUrl;
