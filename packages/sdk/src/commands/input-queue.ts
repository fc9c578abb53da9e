/** Sends input of one process in the order of the calls, also when a caller does not wait for each. */
export class InputQueue {
  private readonly tails = new Map<number, Promise<unknown>>();

  run<T>(pid: number, send: () => Promise<T>): Promise<T> {
    const before = this.tails.get(pid);
    const result = before ? before.then(send, send) : send();
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    this.tails.set(pid, tail);
    void tail.then(() => {
      if (this.tails.get(pid) === tail) this.tails.delete(pid);
    });
    return result;
  }
}
