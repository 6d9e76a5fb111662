/* sample/param.c - the numeric sampling options, one row each: look up, set and resolve them. */
#include "base/err.h"
#include "sample/param.h"

#include <assert.h>

#define FIELD(f) offsetof(struct infer_sample_opts, f)
enum { REAL, WHOLE };
/* clang-format off */
#define FROM(lo, hi) { lo, hi, 0 }
#define ABOVE(lo, hi) { lo, hi, 1 }
#define SAME { 0, 0, 0 }
static const struct infer_sample_param params[] = {
#define PARAM(field, type, json, option, arg, range, http, least, zero, usual, key, help) \
	{ json, option, arg, help, key, type, FIELD(field), range, http, least, zero, usual },
#include "sample/param_list.h"
#undef PARAM
};
#define PARAM(field, type, ...) static_assert( \
	_Generic(((struct infer_sample_opts *)0)->field, int32_t: WHOLE, float: REAL) == type, #field);
#include "sample/param_list.h"
#undef PARAM
/* clang-format on */
enum { N_PARAMS = sizeof params / sizeof *params };
static_assert(N_PARAMS < 64, "a bit of `given` for each");
static_assert(FIELD(n_bias) / sizeof(float) == N_PARAMS,
              "param_list.h has a row for each number at the head of struct infer_sample_opts");

const struct infer_sample_param *infer_sample_param(int i)
{
	return i >= 0 && i < N_PARAMS ? &params[i] : NULL;
}

double infer_sample_get(const struct infer_sample_opts *o, const struct infer_sample_param *p)
{
	const char *at = (const char *)o + p->at;

	return p->whole ? *(const int32_t *)at : (double)*(const float *)at;
}

int sample_check(const struct infer_sample_param *p, const struct infer_sample_range *r, double v,
                 infer_error *err)
{
	if ((r->above ? v > r->lo : v >= r->lo) && v <= r->hi)
		return INFER_OK;
	return err_set(err, INFER_EINVAL, "%s is %.9g: must be %s %.15g %s %.15g", p->name, v,
	               r->above ? "above" : "from", r->lo, r->above ? "and at most" : "to", r->hi);
}

/* Store v, which is in range. */
static void put_number(struct infer_sample_opts *o, const struct infer_sample_param *p, double v)
{
	char *at = (char *)o + p->at;

	if (p->whole)
		*(int32_t *)at = (int32_t)v;
	else
		*(float *)at = (float)v;
}

int infer_sample_set(struct infer_sample_opts *o, const struct infer_sample_param *p, double v,
                     infer_error *err)
{
	TRY(sample_check(p, &p->range, v, err));
	if (!p->whole) /* rounded to float it must be in range too */
		TRY(sample_check(p, &p->range, (double)(float)v, err));
	put_number(o, p, v);
	o->given |= 1ull << (p - params);
	return INFER_OK;
}

/* True if field i was not set (0). */
static int is_default(const struct infer_sample_opts *o, int i)
{
	return infer_sample_get(o, &params[i]) == 0 && !(o->given >> i & 1);
}

int sample_check_all(const struct infer_sample_opts *o, infer_error *err)
{
	for (int i = 0; i < N_PARAMS; i++)
		if (!is_default(o, i))
			TRY(sample_check(&params[i], &params[i].range,
			                 infer_sample_get(o, &params[i]), err));
	return INFER_OK;
}

/* Set the number at this offset to its default. */
static void reset_number(struct infer_sample_opts *o, size_t at)
{
	for (int i = 0; i < N_PARAMS; i++)
		if (params[i].at == at)
			put_number(o, &params[i], params[i].zero);
}

void infer_sample_resolve(struct infer_sample_opts *o)
{
	for (int i = 0; i < N_PARAMS; i++) {
		const struct infer_sample_param *p = &params[i];

		if (is_default(o, i))
			put_number(o, p, p->zero);
		else if (infer_sample_get(o, p) < p->least)
			put_number(o, p, p->least);
	}
	/* a stage with window 0 is off: set its fields to their defaults, as records show them */
	if (!o->repeat_window) {
		reset_number(o, FIELD(repeat));
		reset_number(o, FIELD(presence));
		reset_number(o, FIELD(frequency));
		reset_number(o, FIELD(repeat_window));
	}
	if (!o->dry_window) {
		reset_number(o, FIELD(dry_multiplier));
		reset_number(o, FIELD(dry_window));
	}
	o->given = (1ull << N_PARAMS) - 1;
	if (o->order[0] == INFER_STAGE_END)
		for (int i = 0; i + 1 < INFER_STAGE_COUNT; i++)
			o->order[i] = (uint8_t)(i + 1);
}
