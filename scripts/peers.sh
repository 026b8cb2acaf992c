# shellcheck shell=bash
# The three local peers that scripts/cluster runs and scripts/rolling-restart restarts: where they are, and how one is
# started. It is sourced after lib.sh, from the root of the tree.

dir=${NAMESRV_CLUSTER_DIR:-$PWD/.cluster}
read -r -a client <<<"${NAMESRV_CLIENT_PORTS:-9876 9877 9878}"
read -r -a peer <<<"${NAMESRV_PEER_PORTS:-9886 9887 9888}"
read -r -a admin <<<"${NAMESRV_ADMIN_PORTS:-9896 9897 9898}"
[[ ${#client[@]} == 3 && ${#peer[@]} == 3 && ${#admin[@]} == 3 ]] || die "each list of ports must have three"
unset NAMESRV_CLIENT_PORTS NAMESRV_PEER_PORTS NAMESRV_ADMIN_PORTS NAMESRV_CLUSTER_DIR
binary=$dir/namesrv

# names of the peers, in the order of their ports.
names=(n1 n2 n3)

# admin_url is where the peer of that number answers commands.
admin_url() { echo "http://127.0.0.1:${admin[$1]}"; }

# launch starts a peer, unless it runs.
launch() {
  local i=$1 name=${names[$1]}
  if alive "$dir/$name.pid" "$binary"; then
    say "$name runs already"
    return
  fi
  mkdir -p "$dir/$name"
  HOME=$dir/$name nohup "$binary" server --node-id "$name" --data-dir "$dir/$name" \
    --listen "127.0.0.1:${client[$i]}" --advertise "127.0.0.1:${client[$i]}" \
    --peer-listen "127.0.0.1:${peer[$i]}" --peer-advertise "127.0.0.1:${peer[$i]}" \
    --admin-listen "127.0.0.1:${admin[$i]}" --bootstrap-expect 3 \
    --join "127.0.0.1:${peer[0]},127.0.0.1:${peer[1]},127.0.0.1:${peer[2]}" \
    >>"$dir/$name.log" 2>&1 </dev/null &
  echo $! >"$dir/$name.pid"
}

# await waits until a peer is ready.
await() {
  local i=$1 name=${names[$1]} try
  for ((try = 0; try < 300; try++)); do
    "$binary" healthcheck --admin "$(admin_url "$i")" >/dev/null 2>&1 && return
    alive "$dir/$name.pid" "$binary" || die "$name ended: $(tail -n 1 "$dir/$name.log")"
    sleep 0.1
  done
  die "$name is not ready after 30 s: $(tail -n 1 "$dir/$name.log")"
}
