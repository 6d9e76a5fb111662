/* plan/size_class.c - the shapes of usual models by size or name: "8B", "30B-A3B", "Llama-3.1-8B" */
#include <infer/dims.h>
#include "base/err.h"
#include "base/fmath.h"
#include "base/num.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* From the config.json of each model on huggingface.co.  params, active: in billions, as published. */
static const struct usual {
	double params, active;
	struct infer_dims is;
} usual[] = {
#define DENSE(p, n, l, e, h, kv, hd, f, v, c, t) \
	{ p, \
	  p, \
	  { .name = n, \
	    .layers = l, \
	    .embd = e, \
	    .heads = h, \
	    .kv_heads = kv, \
	    .head = hd, \
	    .ff = f, \
	    .vocab = v, \
	    .ctx = c, \
	    .tied = t } },
#define EXPERTS(p, a, n, l, e, h, kv, hd, v, c, x, u, xf) \
	{ p, \
	  a, \
	  { .name = n, \
	    .layers = l, \
	    .embd = e, \
	    .heads = h, \
	    .kv_heads = kv, \
	    .head = hd, \
	    .ff = xf, \
	    .vocab = v, \
	    .ctx = c, \
	    .experts = x, \
	    .used = u, \
	    .expert_ff = xf } },
	DENSE(0.135, "SmolLM2-135M", 30, 576, 9, 3, 64, 1536, 49152, 8192,
	      1) DENSE(0.36, "SmolLM2-360M", 32, 960, 15, 5, 64, 2560, 49152, 8192,
	               1) DENSE(0.6, "Qwen3-0.6B", 28, 1024, 16, 8, 128, 3072, 151936, 40960, 1)
		DENSE(1.24, "Llama-3.2-1B", 16, 2048, 32, 8, 64, 8192, 128256, 131072,
	              1) DENSE(1.72, "Qwen3-1.7B", 28, 2048, 16, 8, 128, 6144, 151936, 40960,
	                       1) DENSE(3.21, "Llama-3.2-3B", 28, 3072, 24, 8, 128, 8192, 128256,
	                                131072, 1) DENSE(4.02, "Qwen3-4B", 36, 2560, 32, 8,
	                                                 128, 9728, 151936, 40960, 1)
			DENSE(7.25, "Mistral-7B-v0.3", 32, 4096, 32, 8, 128, 14336, 32768, 32768,
	                      0) DENSE(8.03, "Llama-3.1-8B", 32, 4096, 32, 8, 128, 14336, 128256,
	                               131072, 0) DENSE(12.25, "Mistral-Nemo-2407", 40, 5120, 32, 8,
	                                                128, 14336, 131072, 131072, 0)
				DENSE(14.77, "Qwen3-14B", 40, 5120, 40, 8, 128, 17408, 151936,
	                              40960, 0) DENSE(23.57, "Mistral-Small-24B-2501", 40, 5120, 32,
	                                              8, 128, 32768, 131072, 32768,
	                                              0) DENSE(32.76, "Qwen3-32B", 64, 5120, 64,
	                                                       8, 128, 25600, 151936, 40960,
	                                                       0) DENSE(70.55, "Llama-3.1-70B", 80,
	                                                                8192, 64, 8, 128, 28672,
	                                                                128256, 131072, 0)
					DENSE(122.6, "Mistral-Large-2407", 88, 12288, 96, 8, 128,
	                                      28672, 32768, 131072,
	                                      0) DENSE(405.9, "Llama-3.1-405B", 126, 16384, 128, 8,
	                                               128, 53248, 128256, 131072,
	                                               0) EXPERTS(20.9, 3.6, "gpt-oss-20b",
	                                                          24, 2880, 64, 8,
	                                                          64, 201088, 131072, 32, 4, 2880)
						EXPERTS(30.5, 3.3, "Qwen3-30B-A3B", 48, 2048, 32, 4,
	                                                128, 151936, 40960, 128, 8,
	                                                768) EXPERTS(46.7, 12.9, "Mixtral-8x7B", 32,
	                                                             4096, 32, 8, 128, 32000, 32768,
	                                                             8, 2, 14336)
							EXPERTS(116.8, 5.1, "gpt-oss-120b", 36,
	                                                        2880, 64, 8, 64, 201088, 131072,
	                                                        128, 4, 2880)
								EXPERTS(235.1, 22.2,
	                                                                "Qwen3-235B-A22B", 94, 4096,
	                                                                64, 4, 128, 151936, 40960,
	                                                                128, 8, 1536){
									671,
									37,
									{ .name = "DeepSeek-V3",
	                                                                  .layers = 61,
	                                                                  .embd = 7168,
	                                                                  .heads = 128,
	                                                                  .kv_heads = 128,
	                                                                  .head = 128,
	                                                                  .ff = 18432,
	                                                                  .vocab = 129280,
	                                                                  .ctx = 163840,
	                                                                  .experts = 256,
	                                                                  .used = 8,
	                                                                  .expert_ff = 2048,
	                                                                  .shared_ff = 2048,
	                                                                  .dense = 3,
	                                                                  .q_rank = 1536,
	                                                                  .kv_rank = 512,
	                                                                  .rope = 64,
	                                                                  .nope = 128,
	                                                                  .v_head = 128 } },
#undef DENSE
#undef EXPERTS
};

/* Read "8B" or "0.6B".  Returns the text after it, or NULL. */
static const char *read_size(const char *s, double *billions)
{
	size_t n = strspn(s, "0123456789"), more = 0;
	char digits[16];

	if (n && s[n] == '.')
		more = 1 + strspn(s + n + 1, "0123456789");
	if (!n || more == 1 || n + more >= sizeof digits)
		return NULL;
	memcpy(digits, s, n + more);
	digits[n + more] = 0;
	*billions = strtod(digits, NULL);
	s += n + more;
	if (*s == 'm' || *s == 'M')
		*billions /= 1000;
	else if (*s != 'b' && *s != 'B')
		return NULL;
	return s + 1;
}

/* Read a size class.  active: the same as params if there are no experts.  Returns 0 if it is none. */
static int read_class(const char *text, double *params, double *active)
{
	const char *rest = read_size(text, params);

	if (!rest)
		return 0;
	*active = *params;
	if (!*rest)
		return 1;
	if (rest[0] != '-' || (rest[1] != 'a' && rest[1] != 'A'))
		return 0;
	rest = read_size(rest + 2, active);
	return rest && !*rest;
}

/* Return the model with the name, case ignored; NULL: there is none. */
static const struct usual *find_usual(const char *name)
{
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (!strcasecmp(usual[i].is.name, name))
			return &usual[i];
	return NULL;
}

int infer_dims_is_class(const char *text)
{
	double params, active;

	return read_class(text, &params, &active) || find_usual(text);
}

/* Return how many times as large one is as the other, as a logarithm. */
static double distance(double a, double b) { return a > b ? fm_log(a / b) : fm_log(b / a); }

static void copy_dims(struct infer_dims *d, const struct usual *u)
{
	*d = u->is;
	d->type = INFER_BF16;
	d->ff_matrices = 3;
}

int infer_dims_class(struct infer_dims *d, const char *size, infer_error *err)
{
	/* a shape of less than twice the size is stretched; "A3B" often means 3.3 or 3.6 */
	enum { STRETCH = 2 };
	const struct usual *best = NULL, *named = find_usual(size);
	double params, active, least = fm_log(STRETCH);

	if (named) {
		copy_dims(d, named);
		return INFER_OK;
	}
	if (!read_class(size, &params, &active))
		return err_set(err, INFER_EINVAL, "'%.40s' is not a size: 8B, or 30B-A3B", size);
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		const struct usual *u = &usual[i];
		double far = distance(u->params, params) + distance(u->active, active) / 2;

		if ((u->is.experts > 0) == (active < params) && far < least) {
			least = far;
			best = u;
		}
	}
	if (!(params > 0) || !(active > 0) || !best)
		return err_set(err, INFER_EINVAL,
		               "no usual model has the size '%.40s': 135M to 405B, or 20B-A3B, "
		               "30B-A3B, 47B-A13B, 120B-A5B, 235B-A22B, 671B-A37B",
		               size);
	copy_dims(d, best);
	/* sizes are rounded: "1B" is 1.24, "70B" 70.6 */
	double by = params / best->params;

	if (by < 0.8 || by > 1.08)
		d->layers = (int32_t)num_max(1, (int64_t)(d->layers * by + 0.5));
	return INFER_OK;
}
