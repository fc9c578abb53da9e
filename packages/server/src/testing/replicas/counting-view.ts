import { OwnerPlaceView } from "../../replicas/owner-place.ts";

/** Counts the requests that wait for an owner. */
export class CountingView extends OwnerPlaceView {
  waits = 0;

  override wait(...args: Parameters<OwnerPlaceView["wait"]>): () => void {
    this.waits += 1;
    return super.wait(...args);
  }
}
