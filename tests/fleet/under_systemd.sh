sh -c '
set -e
mkdir /run/units /run/none
for name in sysinit basic shutdown; do echo "[Unit]" >/run/units/$name.target; done
cat >/run/units/ssh.service <<END
[Unit]
DefaultDependencies=no
[Service]
ExecStart={sshd}
StandardError=append:{folder}/diary
END
echo 0 >{group}/cgroup.procs
exec unshare --cgroup sh -c "mount -t cgroup2 cgroup2 /sys/fs/cgroup; exec {systemd} --unit=ssh.service"'

