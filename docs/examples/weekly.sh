#!/bin/sh
# Publish this week's view: 0 is a new release, 99 the same view as last week. Anything else is an error, which cron mails.
series=${1:?folder of the series} view=${2:?the view}
republish publish "$series" "$view" --wait 600 --quiet
code=$?
[ "$code" -eq 99 ] && exit 0
exit "$code"
