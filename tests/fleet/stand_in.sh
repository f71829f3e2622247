for word; do
    case $word in
        *.yml | *.yaml | *.sbatch | hosts.ini | fleet/*)
            [ -e "$word" ] || { echo "$word: not in $PWD" >&2; exit 1; }
            ;;
    esac
done
echo "${0##*/} $*" >>"$SAID"
case "$*" in
    exec*" tar "*) tar -czf - --files-from=/dev/null ;;
    create*" -o name") echo job.batch/crossover-abcde ;;
    "get job.batch/crossover-abcde "*conditions*) echo FailureTarget Failed ;;
esac
