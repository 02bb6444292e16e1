// The live buffers in tokens, a row a layer group: what stands where in them at a moment. Pure functions of the Store.

// `offset` counts all tokens that were seen; a window's buffer holds [from, offset) of them. `room` is -1 where it is not known.
function liveBuffers(scene) {
  const { buffers } = scene.store.tables;
  const last = lastUpTo(buffers.seq ?? [], scene.seq);
  const rows = scene.store.about.groups.map((group, number) => {
    let row = last;
    while (row >= 0 && buffers.group[row] !== number) row -= 1;
    const told = row >= 0 && !movedSince(scene, buffers.seq[row]);
    const offset = told ? buffers.offset[row] : scene.offset();
    const room = row >= 0 ? buffers.room[row] : -1;
    const { kind, label, window } = group;
    if (kind === "recurrent") return { group: number, kind, label, offset, from: offset, room: -1 };
    if (window) return { group: number, kind, label, offset, from: Math.max(0, offset - (room > 0 ? Math.min(room, window) : window)), room, window };
    return { group: number, kind, label, offset, from: 0, room: room < 0 ? -1 : Math.max(room, offset) };
  });
  return rows.filter((row) => row.kind !== "stateless");
}

// Chunks and tokens move the offset without a row of their own.
function movedSince(scene, seq) {
  const { store } = scene;
  return ["chunk_ran", "token_out"].some((what) => (store.marks(what, scene.seq, scene.request).at(-1)?.seq ?? -1) > seq);
}

function liveWords(live) {
  if (live.kind === "recurrent") return `state after ${many(live.offset, "token")}`;
  if (live.window) return `offset ${live.offset}; ring of the last ${live.window} tokens holds [${live.from}, ${live.offset})${live.room < 0 ? "" : `, room for ${live.room}`}`;
  return `offset ${live.offset}, ${live.room < 0 ? "room not known" : `room for ${many(live.room, "token")}`}`;
}
