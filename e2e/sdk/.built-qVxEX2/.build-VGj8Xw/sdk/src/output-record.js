/** Everything that a command has put out, as bytes, and as text for who asks. */
export class OutputRecord {
    pieces = [];
    texts = new Map();
    ended = false;
    add(output) {
        this.pieces.push(output);
    }
    /** Nothing more comes: what is left of a character that was cut counts as text now. */
    end() {
        this.ended = true;
    }
    text(stream) {
        const state = this.texts.get(stream) ?? { decoder: new TextDecoder(), upTo: 0, text: "" };
        this.texts.set(stream, state);
        const added = [];
        for (; state.upTo < this.pieces.length; state.upTo++) {
            const piece = this.pieces[state.upTo];
            if (piece?.stream === stream)
                added.push(state.decoder.decode(piece.data, { stream: true }));
        }
        // A decoder that has been flushed gives nothing more, so doing it again does no harm.
        if (this.ended)
            added.push(state.decoder.decode());
        if (added.length > 0)
            state.text += added.join("");
        return state.text;
    }
}
