// The live buffers in tokens, a row a layer group: what they hold at a moment and how much they have room for. Pure functions of the Store.

// They have seen `offset` tokens and hold [from, offset) of them; `room` is -1 where it was not recorded.
function liveBuffers(scene) {
  const { buffers } = scene.store.tables;
  const last = lastUpTo(buffers.seq ?? [], scene.seq);
  const rows = scene.store.about.groups.map(({ kind, label, window }, group) => {
    let row = last;
    while (row >= 0 && buffers.group[row] !== group) row -= 1;
    const offset = row >= 0 && kind === "draft_kv" ? buffers.offset[row] : scene.offset;
    const room = row >= 0 ? buffers.capacity[row] : -1;
    return { group, kind, label, window, offset, room, from: row >= 0 ? Math.max(buffers.start[row], offset - room) : 0 };
  });
  return rows.filter((row) => row.kind !== "stateless");
}

function liveWords(live) {
  if (live.kind === "recurrent") return `state after ${many(live.offset, "token")}`;
  if (live.window) return `offset ${live.offset}; ring of the last ${live.window} tokens holds [${live.from}, ${live.offset})${live.room < 0 ? "" : `, room for ${live.room}`}`;
  return `offset ${live.offset}, ${live.room < 0 ? "room not recorded" : `room for ${many(live.room, "token")}`}`;
}
