// Questions to the server: at most one under way of a kind, and of those waiting only the newest.

const PATIENCE = 1000; // milliseconds until the page says that an answer is being computed
let working = 0;

function sayWorking(change) {
  working += change;
  const bar = document.getElementById("working");
  if (bar) bar.hidden = working === 0;
}

export class Latest {
  constructor(address) {
    this.address = address;
    this.waiting = null;
    this.isBusy = false;
  }

  ask(message, onAnswer) {
    this.waiting = { message, onAnswer };
    if (!this.isBusy) this.next();
  }

  forget() {
    this.waiting = null;
    this.number = (this.number ?? 0) + 1;
  }

  async next() {
    const { message, onAnswer } = this.waiting, number = this.number;
    this.waiting = null;
    this.isBusy = true;
    let isShown = false;
    const timer = setTimeout(() => { isShown = true; sayWorking(1); }, PATIENCE);
    const answer = await ask(this.address, message);
    clearTimeout(timer);
    if (isShown) sayWorking(-1);
    this.isBusy = false;
    if (number === this.number) onAnswer(answer);
    if (this.waiting) this.next();
  }
}

export async function ask(address, message) {
  try {
    const request = message === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(message) };
    const reply = await fetch(address, request);
    if (reply.status === 403) return { refused: await reply.text() };
    return await reply.json();
  } catch {
    return { refused: "The lab\u2019s server does not answer. Is the command still running?" };
  }
}
