#!/bin/sh
# After an installation or upgrade, of a deb and of an rpm.
set -e
if ! getent passwd loci >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/loci --no-create-home --shell /usr/sbin/nologin --comment Loci loci
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart loci.service
fi
