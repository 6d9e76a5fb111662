/* infer-inspect/plan_verdict.c - the verdict of a plan in a sentence, and the command to run. */
#include "plan.h"

#include <string.h>

/* Tokens a second of a user: people read 5 to 8; below 1 nobody waits.  Milliseconds to the first token that
 * people wait in a conversation; above 10 minutes it is work for a night. */
static const double WELL_TOK_S = 8, SLOW_TOK_S = 1, WELL_TTFT_MS = 15000, SLOW_TTFT_MS = 600000;
/* increase of perplexity, per cent, from which answers are poor */
static const double POOR_LOSS = 30;

const char *plan_grade_name(int grade)
{
	static const char *const names[] = { "well", "slowly", "hardly", "unknown" };

	return names[grade];
}

static int grade_of(const struct strategy *s)
{
	const struct infer_plan *r = &s->plan;
	const struct infer_plan_ask *a = &s->ask;
	double each = r->tpot_ms > 0 ? 1e3 / r->tpot_ms : r->decode_tok_s;
	int asked = a->ttft_ms > 0 || a->tpot_ms > 0; /* strategies have the latency asked for */

	if (!(each > 0))
		return RUNS_UNKNOWN;
	int slow = each < SLOW_TOK_S || r->ttft_ms > SLOW_TTFT_MS;

	if (s->loss > POOR_LOSS || (slow && !asked))
		return RUNS_HARDLY;
	return asked || (each >= WELL_TOK_S && r->ttft_ms <= WELL_TTFT_MS) ? RUNS_WELL
	                                                                   : RUNS_SLOWLY;
}

void plan_judge(struct planned *p)
{
	p->pick = 0;
	p->grade = RUNS_UNKNOWN;
	for (int i = 0; i < p->n_best; i++) {
		int grade = grade_of(&p->best[i]);

		/* one that this program runs, then the better grade, then the earlier aim */
		if (i && p->best[i].runs == RUNS_OTHER && p->best[p->pick].runs != RUNS_OTHER)
			continue;
		if (!i || grade < p->grade) {
			p->pick = i;
			p->grade = grade;
		}
	}
}

static const char *bound_in_words(int bound)
{
	static const char *const words[INFER_BOUND_COUNT] = {
		[INFER_BOUND_MEMORY] = "memory bandwidth",
		[INFER_BOUND_KV] = "reading the KV cache",
		[INFER_BOUND_COMPUTE] = "arithmetic",
		[INFER_BOUND_LINK] = "the link between accelerators",
		[INFER_BOUND_RUNTIME] = "the constant cost of each step",
		[INFER_BOUND_SCHEDULER] = "the prompts of other users",
	};

	return words[bound];
}

void plan_put_time(struct buf *out, double ms, int decimals)
{
	if (ms >= 1000)
		buf_printf(out, "%.1f s", ms * 1e-3);
	else
		buf_printf(out, "%.*f ms", decimals, ms);
}

/* Append the speed, and what limits it. */
static void put_speed(struct buf *out, const struct strategy *s)
{
	const struct infer_plan *r = &s->plan;
	double each = r->tpot_ms > 0 ? 1e3 / r->tpot_ms : r->decode_tok_s;
	int by = r->tpot_ms > 0 ? r->tpot_by : r->alone.total_by;

	if (!(each > 0)) {
		buf_printf(out, "at most %.*f tokens/s, limited by %s",
		           r->limit_decode_tok_s < 10 ? 2 : 0, r->limit_decode_tok_s,
		           bound_in_words(r->alone.limit_by));
		return;
	}
	buf_printf(out, "%.*f tokens/s", each < 10 ? 2 : 0, each);
	if (s->ask.users > 1)
		buf_printf(out, " for each of %d users", (int)s->ask.users);
	if (r->ttft_ms > 0) {
		buf_puts(out, ", the first after ");
		plan_put_time(out, r->ttft_ms, 0);
	}
	buf_printf(out, "; limited by %s", bound_in_words(by));
}

static void put_place(struct buf *out, const struct planned *p, const struct strategy *s)
{
	const struct infer_setup *how = &s->ask.how;
	static const char *const splits[] = { "", ", layers cut (tensor parallel)",
		                              ", whole layers on each (pipeline)",
		                              ", experts on each" };

	if (s->type >= 0)
		buf_printf(out, " as %s", plan_type_name(s->type));
	if (how->gpu_part > 0 && how->gpu_part < 1)
		buf_printf(out, " with %.0f of %d layers on the GPU",
		           how->gpu_part * p->shape.layers, (int)p->shape.layers);
	else if (how->gpus > 1)
		buf_printf(out, " on %d GPUs%s", (int)how->gpus, splits[how->split]);
	if (s->runs == RUNS_OTHER)
		buf_puts(out, " with another engine, not with this program");
}

void plan_verdict(struct buf *out, const struct planned *p)
{
	static const char *const words[] = { "runs well", "runs slowly", "hardly usable", "fits" };
	const struct strategy *s = &p->best[p->pick];

	buf_puts(out, words[p->grade]);
	put_place(out, p, s);
	buf_puts(out, ": ");
	put_speed(out, s);
	if (s->loss > POOR_LOSS)
		buf_printf(out, "; answers are much worse (perplexity about %.0f %% up)", s->loss);
}

/* Append a line without the spaces that it begins with and its line break. */
static void put_line(struct buf *out, const struct buf *line)
{
	size_t from = 0, to = line->len;

	while (from < to && line->at[from] == ' ')
		from++;
	while (to > from && line->at[to - 1] == '\n')
		to--;
	buf_put(out, line->at + from, to - from);
	out->bad |= line->bad;
}

void plan_command(struct buf *out, const struct planned *p)
{
	const struct strategy *s = &p->best[p->pick];
	struct buf line;

	if (s->runs == RUNS_OTHER) {
		const char *other = plan_other_engine(p);
		buf_puts(out, other ? other : "");
		return;
	}
	buf_init(&line, MEM_BASE);
	plan_quant_line(&line, p, s);
	if (line.len) {
		put_line(out, &line);
		buf_puts(out, " && ");
	}
	buf_clear(&line);
	if (s->ask.users > 1)
		plan_serve_line(&line, p, s);
	else
		plan_run_line(&line, p, s);
	put_line(out, &line);
	buf_fini(&line);
}
