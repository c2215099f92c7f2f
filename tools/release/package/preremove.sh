#!/bin/sh
# Before a removal: dpkg passes "remove", rpm passes 0. An upgrade passes something else.
set -e
case "$1" in
remove | 0) if [ -d /run/systemd/system ]; then systemctl disable --now loci.service; fi ;;
esac
