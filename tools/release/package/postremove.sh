#!/bin/sh
# After a removal. Memory is never deleted: its owner does that.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ]; then
	if [ -e /var/lib/loci ] || [ -e /var/lib/private/loci ]; then
		echo "loci: kept the memory in /var/lib/loci and the user loci, who owns it"
	elif getent passwd loci >/dev/null; then
		userdel loci
	fi
fi
