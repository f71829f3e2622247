set -e
sed 's#:/root:#:{home}:#' /etc/passwd >{folder}/passwd
mount --bind {folder}/passwd /etc/passwd
[ -z "{size}" ] || mount -t tmpfs -o size={size} tmpfs {home}
mkdir -p {home}/crossover-fleet/co
[ -e {home}/crossover-fleet/co/.venv ] || ln -s {folder}/venv {home}/crossover-fleet/co/.venv
mount -t overlay -o lowerdir={venv},upperdir={folder}/upper,workdir={folder}/work overlay {folder}/venv
{lines}
mount -t tmpfs tmpfs /run
mkdir /run/sshd
mkdir -m 1777 /run/lock
exec {init}
