# shellcheck shell=bash disable=SC2034,SC2154 # what the script that sources it uses, and gives
# A container engine for a test, and images that stand in for public ones. It is sourced after lib.sh, by a script that has
# a folder of its own in $dir, and stops the engine by $dir/docker.pid when it ends.

compose=(docker-compose)

# programs makes sure of an engine's programs, and sets how Compose is called.
programs() {
  have docker && { have docker-compose || docker compose version >/dev/null 2>&1; } ||
    apt_install docker.io docker-compose ca-certificates || return 1
  have docker-compose || compose=(docker compose)
}

# engine makes sure that an engine answers, and starts one when it may.
engine() {
  docker info >/dev/null 2>&1 && return
  [[ $(id -u) == 0 ]] || return 1
  have dockerd || apt_install docker.io || return 1
  export DOCKER_HOST=unix://$dir/docker.sock
  dockerd --host "$DOCKER_HOST" --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/docker.pid" \
    >"$dir/dockerd.log" 2>&1 </dev/null &
  local pid=$! try
  for ((try = 0; try < 300; try++)); do
    docker info >/dev/null 2>&1 && return
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  say "dockerd does not come up:"
  tail -n 5 "$dir/dockerd.log" >&2
  return 1
}

# build_image sets GO_IMAGE to the image of the build stage: what the caller gave, the public one, or a stand-in.
build_image() {
  [[ -z ${GO_IMAGE:-} ]] || return 0
  local public=golang:1.26
  if docker image inspect "$public" >/dev/null 2>&1 || pull "$public" >/dev/null 2>&1; then
    export GO_IMAGE=$public
    return
  fi
  say "$public cannot be pulled; making a stand-in"
  stand_in
}

# pull gives up soon where no registry answers, and has time where one does.
pull() { timeout 20 docker manifest inspect "$1" && timeout 600 docker pull -q "$1"; }

# static_busybox makes sure of a busybox that needs no libraries.
static_busybox() {
  if ! have busybox || ldd "$(command -v busybox)" >/dev/null 2>&1; then
    apt_install busybox-static
  fi
}

# stand_in is a root folder with busybox, the certificates of this machine and its Go.
stand_in() {
  local busybox root=$dir/rootfs go_root
  static_busybox
  busybox=$(command -v busybox)
  [[ -f /etc/ssl/certs/ca-certificates.crt ]] || apt_install ca-certificates
  mkdir -p "$root"/{bin,etc/ssl/certs,tmp,go}
  chmod 1777 "$root/tmp"
  cp "$busybox" "$root/bin/busybox"
  local applet
  for applet in $("$busybox" --list); do
    [[ $applet == busybox ]] || ln -s busybox "$root/bin/$applet"
  done
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
  echo 'root:x:0:' >"$root/etc/group"
  go_root=$(go env GOROOT)
  export GO_IMAGE=namesrv-build:local
  tar -c --transform 's,^rootfs,.,' --transform "s,^${go_root#/},usr/local/go," \
    -C "$dir" rootfs -C / "${go_root#/}" |
    docker import -c 'ENV PATH=/usr/local/go/bin:/bin GOPATH=/go GOTOOLCHAIN=local' -c 'WORKDIR /go' - "$GO_IMAGE" >/dev/null
}

# stand_in_prometheus makes an image of Debian's Prometheus and the libraries it needs, where one can be had.
stand_in_prometheus() {
  local root=$dir/prometheus-root file
  apt_unpack prometheus "$dir/prometheus-package" || return 1
  mkdir -p "$root"/{bin,prometheus,tmp}
  cp "$dir/prometheus-package/usr/bin/prometheus" "$root/bin/"
  for file in $(ldd "$root/bin/prometheus" | grep -o '/[^ ]*'); do
    install -D "$file" "$root$file"
  done
  export PROMETHEUS_IMAGE=namesrv-prometheus:local
  tar -c -C "$root" . | docker import -c 'ENTRYPOINT ["/bin/prometheus"]' - "$PROMETHEUS_IMAGE" >/dev/null
}

# stand_in_broker makes an image that shows what the broker's container gets: its file, and name servers that answer.
stand_in_broker() {
  local root=$dir/broker-root applet
  static_busybox
  mkdir -p "$root/bin" "$root/tmp"
  cp "$(command -v busybox)" "$root/bin/busybox"
  for applet in sh grep tr nc sleep; do ln -s busybox "$root/bin/$applet"; done
  cat >"$root/mqbroker" <<'SCRIPT'
[ "$1" = -c ] && grep -q '^brokerClusterName=' "$2" || exit 1
for server in $(echo "$NAMESRV_ADDR" | tr ';' ' '); do
  nc -w 2 "${server%:*}" "${server#*:}" </dev/null || exit 1
  echo "reached $server"
done
exec sleep 3600
SCRIPT
  export ROCKETMQ_IMAGE=namesrv-broker:local
  tar -c -C "$root" . | docker import -c 'WORKDIR /' - "$ROCKETMQ_IMAGE" >/dev/null
}
