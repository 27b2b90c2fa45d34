# Shared by quickstart and run-tests: messages, and installing Debian packages by name.

say() { printf '\n== %s\n' "$*"; }
stop() { printf '\nstopped: %s\n' "$*" >&2; exit 1; }

# need_packages NAME...: installs those that are missing; says what it does.
need_packages() {
  command -v dpkg-query >/dev/null ||
    stop "this script installs Debian packages; on another system install by hand: $*"
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local sudo=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      stop "packages are missing and there is no sudo; as root: apt-get install ${missing[*]}"
    sudo=sudo
  fi
  say "Installing packages: ${missing[*]}"
  $sudo apt-get update -qq || stop "apt-get update failed; is the network reachable?"
  $sudo env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    stop "could not install: ${missing[*]}"
}
