// @ts-check
// Restate's TypeScript SDK: the agent loop by hand, each model and tool call a step.
//
// The stable id is `ctx.rand.uuidv4()`. Environment, ready line and keys as in lab/contestants/__init__.py.
// Run: node lab/contestants/typescript/agent.mjs

import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";

// SDK 1.17 is made for Node 22. This is the one thing that it misses in Node 20.
Promise.withResolvers ??= function () {
  /** @type {any} */
  const made = {};
  made.promise = new this((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};

const restate = await import("@restatedev/restate-sdk");

const { MODEL_URL, RECEIVER_URL, PORT, KEYED } = process.env;
const TOOLS = JSON.parse(readFileSync(new URL("../tools.json", import.meta.url), "utf8"));
const TURNS_MAX = 500; // above the longest job of the benchmark
const TIMEOUT_MS = 30_000;
const MAY_WORK_LATER = [408, 409, 425, 429];

/** One exchange; what may work another time is thrown, so that Restate tries again.
 * @param {string} method @param {string} url @param {unknown} body @param {Record<string, string>} headers */
async function exchange(method, url, body, headers) {
  const answer = await fetch(url, {
    method,
    headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await answer.text();
  if (answer.status >= 500 || MAY_WORK_LATER.includes(answer.status)) throw new Error(`${answer.status}: ${text}`);
  return { ok: answer.ok, text };
}

/** @param {unknown[]} messages */
async function reply(messages) {
  const body = { model: "mock", messages, tools: TOOLS };
  const headers = { authorization: "Bearer mock-key" };
  const { ok, text } = await exchange("POST", `${MODEL_URL}/chat/completions`, body, headers);
  if (!ok) throw new restate.TerminalError(`the model refused: ${text}`);
  return JSON.parse(text).choices[0].message;
}

/** @param {string} tool @param {any} given @param {string | undefined} key @returns {[string, string, unknown?]} */
function request(tool, given, key) {
  const reference = key === undefined ? {} : { reference: key };
  switch (tool) {
    case "look_up_order":
      return ["GET", `/orders/${encodeURIComponent(given.order_id)}`];
    case "update_crm":
      return ["PUT", `/customers/${encodeURIComponent(given.customer_id)}`, given.fields];
    case "charge_card":
      return ["POST", "/charges", { currency: "EUR", memo: "", ...given, ...reference }];
    case "refund_payment":
      return ["POST", "/refunds", { reason: "", ...given, ...reference }];
    case "send_email":
      return ["POST", "/emails", { ...given, ...reference }];
    default:
      throw new restate.TerminalError(`there is no tool ${tool}`);
  }
}

/** @param {string} tool @param {any} given @param {string | undefined} key */
async function use(tool, given, key) {
  const [method, path, body] = request(tool, given, key);
  /** @type {Record<string, string>} */
  const headers = key === undefined || method === "GET" ? {} : { "idempotency-key": key };
  return (await exchange(method, RECEIVER_URL + path, body, headers)).text;
}

const agent = restate.object({
  name: "TypeScript",
  handlers: {
    /** @param {import("@restatedev/restate-sdk").ObjectContext} ctx @param {{ task: string }} asked */
    run: async (ctx, asked) => {
      /** @type {any[]} */
      const messages = [{ role: "user", content: asked.task }];
      for (let turn = 0; turn < TURNS_MAX; turn++) {
        const message = await ctx.run(`model-${turn}`, () => reply(messages));
        messages.push(message);
        const calls = message.tool_calls ?? [];
        if (calls.length === 0) return { state: "completed", answer: message.content };
        const steps = calls.map((/** @type {any} */ call, /** @type {number} */ index) => {
          const key = KEYED === "1" ? ctx.rand.uuidv4() : undefined;
          const { name, arguments: given } = call.function;
          return ctx.run(`tool-${turn}-${index}`, () => use(name, JSON.parse(given), key));
        });
        const texts = await restate.RestatePromise.all(steps);
        texts.forEach((text, index) => messages.push({ role: "tool", tool_call_id: calls[index].id, content: text }));
      }
      throw new restate.TerminalError(`not done after ${TURNS_MAX} turns`);
    },
  },
});

// Restate speaks HTTP/2 to the worker; whoever started it asks for its health by HTTP/1.1 on the same port.
const endpoint = http2.createServer(restate.createEndpointHandler({ services: [agent] }));
const health = http.createServer((asked, answer) => answer.writeHead(asked.url === "/health" ? 200 : 404).end());
const front = net.createServer((socket) => {
  socket.on("error", () => socket.destroy());
  socket.once("readable", () => {
    const first = socket.read();
    if (first === null) return;
    socket.unshift(first);
    (first.subarray(0, 3).toString() === "PRI" ? endpoint : health).emit("connection", socket);
  });
});
front.listen(Number(PORT), "127.0.0.1", () => console.log(`typescript listening on http://127.0.0.1:${PORT}`));
process.on("SIGTERM", () => process.exit(0)); // what it was at is Restate's to finish
