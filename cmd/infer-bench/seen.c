/* infer-bench/seen.c - adjust the prediction of a plan to the rates of the machine during a run. In a virtual
 * machine the memory rate changes within a tenth of a second, so it is measured between steps. */
#include "seen.h"
#include "base/clock.h"
#include "base/err.h"

enum { EVERY_NS = 20000000 };

/* Return the file whose reading measures the memory rate, or NULL if the CPU caches contain the weights:
 * reading the file would evict them. */
static const infer_file *rate_file(const struct forecast_step *step, const infer_file *file)
{
	return step->memory_ms > 0.05 * step->ms ? file : NULL;
}

void seen_begin(struct seen *s, const struct forecast *plan, int decode, infer_probe *probe,
                const infer_file *file, double *room, size_t repeat)
{
	*s = (struct seen){ .plan = plan };
	if (!plan)
		return;
	s->step = decode ? &plan->decode : &plan->prefill;
	s->planned_tok_s = decode ? plan->decode_tok_s : plan->prefill_tok_s;
	s->probe = probe;
	s->file = rate_file(s->step, file);
	for (size_t i = 0; i < 4; i++)
		s->of[i] = room + i * repeat;
	if (!(forecast_longer(plan, s->step, 1, 1) > 0))
		s->plan = NULL;
}

void seen_turn(struct seen *s)
{
	s->n = 0;
	s->read = s->dot = 0;
}

int seen_sample(struct seen *s, int now, infer_error *err)
{
	double gb_s = 0, gop_s = 0;
	int64_t at = clock_now_ns();

	if (!s->plan || (!now && at - s->last_ns < EVERY_NS))
		return INFER_OK;
	TRY(infer_probe_now(s->probe, s->file, s->file ? &gb_s : NULL, &gop_s, err));
	s->last_ns = clock_now_ns();
	s->read += gb_s > 0 ? 1 / gb_s : 0;
	s->dot += 1 / gop_s;
	s->n++;
	return INFER_OK;
}

void seen_put(struct seen *s, int64_t at, double tok_s)
{
	double gb_s, gop_s;

	if (!s->plan || !s->n)
		return;
	gb_s = s->read > 0 ? s->n / s->read : 0;
	gop_s = s->n / s->dot;
	s->of[0][at] = s->planned_tok_s / forecast_longer(s->plan, s->step, gb_s, gop_s);
	s->of[1][at] = tok_s / s->of[0][at];
	s->of[2][at] = gb_s;
	s->of[3][at] = gop_s;
}

int seen_end(struct infer_adjusted *out, struct seen *s, int64_t repeat)
{
	if (!s->plan || !s->n)
		return 0;
	out->tok_s = bench_spread(s->of[0], repeat);
	out->ratio = bench_spread(s->of[1], repeat);
	out->memory_gb_s = bench_spread(s->of[2], repeat);
	out->i8_gop_s = bench_spread(s->of[3], repeat);
	return 1;
}
