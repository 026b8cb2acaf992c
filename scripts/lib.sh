# shellcheck shell=bash
# Shared by the scripts in this folder. It is sourced, from the root of the tree.

# say prints a line about what the script itself does.
say() { printf '%s\n' "$*" >&2; }

# die ends the script with one line.
die() {
  say "${0##*/}: $*"
  exit 1
}

# have tells whether a program is there.
have() { command -v "$1" >/dev/null 2>&1; }

# section prints a header, runs a command, and says how long that took. The command is not run as a condition: bash
# would then go on after a failure inside it. A script that wants a last word on failure sets a trap.
section() {
  local begin=$SECONDS
  section=$1
  shift
  say ""
  say "=== $section"
  "$@"
  say "=== $((SECONDS - begin)) s: $section"
}

# retry runs a command up to three times. It is for downloads only.
retry() {
  local try
  for try in 1 2 3; do
    "$@" && return 0
    say "try $try of 3 did not succeed: $*"
    sleep $((try * 2))
  done
  return 1
}

# can_install tells whether this is root on a Debian-like system.
can_install() { [[ $(id -u) == 0 ]] && have apt-get; }

apt_updated=
# apt_install installs packages, or says in one line what is missing.
apt_install() {
  can_install || {
    say "not installed and needed: $* (these are Debian's names; as root this script installs them)"
    return 1
  }
  if [[ -z $apt_updated ]]; then
    retry apt-get update -qq >&2 || return 1
    apt_updated=1
  fi
  DEBIAN_FRONTEND=noninteractive retry apt-get install -y -qq --no-install-recommends "$@" >&2
}

# apt_unpack puts a package's files into a folder, without installing it: that would start its service.
apt_unpack() {
  local package=$1 into=$2
  can_install || {
    say "not there and needed: $package (Debian's name; as root this script fetches it)"
    return 1
  }
  if [[ -z $apt_updated ]]; then
    retry apt-get update -qq >&2 || return 1
    apt_updated=1
  fi
  mkdir -p "$into"
  (cd "$into" && retry apt-get download -qq -o APT::Sandbox::User=root "$package" >&2 && dpkg-deb -x "$package"_*.deb . && rm -f "$package"_*.deb)
}

# need_promtool makes sure of Prometheus' checker.
need_promtool() {
  local folder code=0
  have promtool && return
  folder=$(mktemp -d)
  if apt_unpack prometheus "$folder"; then
    install -m 755 "$folder/usr/bin/promtool" /usr/local/bin/
  else
    code=1
  fi
  rm -rf "$folder"
  return "$code"
}

# need_java makes sure of Java and Maven, which run the real RocketMQ programs.
need_java() {
  local packages=()
  have java || packages+=("$(java_package)")
  have mvn || packages+=(maven)
  ((${#packages[@]} == 0)) || apt_install "${packages[@]}"
}

# java_package is a JDK 17 where the distribution has one, else its default.
java_package() {
  if ! have apt-cache || apt-cache show openjdk-17-jdk-headless >/dev/null 2>&1; then
    echo openjdk-17-jdk-headless
  else
    echo default-jdk-headless
  fi
}

# alive tells whether the process of a pid file still runs the given program.
alive() {
  local pid
  pid=$(cat "$1" 2>/dev/null) || return 1
  [[ -n $pid && $(readlink "/proc/$pid/exe" 2>/dev/null || ps -o comm= -p "$pid" 2>/dev/null) == *"$2"* ]]
}

# goes_on tells whether a process has not ended: one that has, and that its parent has not looked after yet, is no more.
goes_on() {
  local stat
  kill -0 "$1" 2>/dev/null || return 1
  [[ ! -e /proc/$1/stat ]] || { stat=$(cat "/proc/$1/stat" 2>/dev/null) && [[ ${stat##*) } != Z* ]]; }
}

# How many seconds a process gets to end by itself: a peer takes 10, and 30 more with enableShutdownGracefully.
stop_seconds=45

# stop_pid ends the process of a pid file: politely, then at once.
stop_pid() {
  local pid end=$((SECONDS + stop_seconds))
  pid=$(cat "$1" 2>/dev/null) || return 0
  kill -TERM "$pid" 2>/dev/null || true
  while goes_on "$pid" && ((SECONDS < end)); do
    sleep 0.1
  done
  if goes_on "$pid"; then
    say "process $pid of $1 did not end within $stop_seconds s after SIGTERM: it is killed"
    kill -KILL "$pid" 2>/dev/null || true
  fi
  rm -f "$1"
}
