/* infer-bench/unclear.c - say why verdicts are unclear, and what would settle them. */
#include "unclear.h"

#include <stdio.h>
#include <string.h>

void unclear_reason(struct buf *to, const struct judged *j)
{
	const struct judge_machine *m = &j->machine;
	const char *taken = m->lone ? "one record of each, not in turns" : "not taken in turns";

	switch (j->doubt) {
	case DOUBT_RATIO:
		buf_puts(to, "a value is 0 or less: there is no ratio");
		break;
	case DOUBT_FEW:
		buf_puts(to, "too few measurements for an interval");
		break;
	case DOUBT_UNKNOWN:
		buf_printf(to, "%s, and they do not tell the machine's speed", taken);
		break;
	case DOUBT_WAITED:
		buf_printf(to, "%s; other programs had %.0f %% of the time", taken,
		           100 * m->waited);
		break;
	case DOUBT_MOVED:
		buf_printf(to, "%s; the machine itself moved by %.0f %%", taken, 100 * m->drift);
		break;
	case DOUBT_WIDE:
		buf_puts(to, "the interval is too wide");
		break;
	case DOUBT_EDGE:
		buf_puts(to, "the change is about as large as the tolerance");
		break;
	case DOUBT_NONE:
	case DOUBT_COUNT:
		break;
	}
}

void unclear_remedy(struct buf *to, const struct judged *j, int rounds)
{
	if (j->doubt == DOUBT_RATIO)
		buf_puts(to, "nothing settles it");
	else if (j->doubt == DOUBT_EDGE)
		buf_puts(to, "another --tolerance settles it");
	else if (!j->needed)
		buf_puts(to, "only a quieter machine settles it");
	else if (rounds)
		buf_printf(to, "about %zu rounds settle it: --rounds %zu", j->needed, j->needed);
	else
		buf_printf(to, "%zu records of each in turns settle it, or infer-bench ab",
		           j->needed);
}

void unclear_add(struct unclear *u, const char *metric, const struct judged *j)
{
	if (j->verdict != VERDICT_UNCLEAR)
		return;
	char *names = u->why[j->doubt].names;
	size_t n = strlen(names), room = sizeof u->why->names - n;

	if (!u->why[j->doubt].of || j->needed > u->why[j->doubt].of->needed)
		u->why[j->doubt].of = j;
	snprintf(names + n, room, "%s%s", n ? ", " : "", metric);
}

void unclear_put(struct buf *to, const struct unclear *u, int rounds)
{
	for (int i = 0; i < DOUBT_COUNT; i++) {
		if (!u->why[i].of)
			continue;
		buf_printf(to, "  unclear: %.68s\n    ", u->why[i].names);
		unclear_reason(to, u->why[i].of);
		buf_puts(to, "\n    ");
		unclear_remedy(to, u->why[i].of, rounds);
		buf_puts(to, "\n");
	}
}
