/* type/unbias.c - remove the bias of scales.
 *
 * With the scale of least squared error, the values y of a block are smaller than the weights x:
 * the regression of y on x has the slope sum(w x y) / sum(w x x) = 1 - error / sum(w x x).  The
 * noise of a value is independent of its neighbours' and averages out in a product.  A slope below
 * 1 is common to all values: it makes each product smaller, and so the activations of a model.
 * Therefore the scales are divided by the slope; codes are unchanged. */
#include "type/search.h"
#include "type/type.h"

#include <math.h>

typedef double pair __attribute__((vector_size(16)));

static pair widen(const float *x)
{
	typedef float two __attribute__((vector_size(8)));
	two v;

	memcpy(&v, x, sizeof v);
	return __builtin_convertvector(v, pair);
}

/* Return the slope of the regression of y on x; 1 if it is undefined, or so small that a scale
 * would more than double. */
static double slope(const float *y, const float *x, const float *w, int n)
{
	pair xx[2] = { { 0 }, { 0 } }, xy[2] = { { 0 }, { 0 } };

	for (int i = 0; i < n; i += 4)
		for (int l = 0; l < 2; l++) {
			pair v = widen(x + i + 2 * l), wv = w ? widen(w + i + 2 * l) * v : v;

			xx[l] += wv * v;
			xy[l] += wv * widen(y + i + 2 * l);
		}
	pair all = xx[0] + xx[1], s = xy[0] + xy[1];
	double a = all[0] + all[1], b = s[0] + s[1];

	return b > 0.5 * a && b < HUGE_VAL ? b / a : 1;
}

static void rescale(const struct type *t, unsigned char *block, double by)
{
	if (t->rescale) {
		t->rescale(block, by);
		return;
	}
	for (int i = 0; i < t->n_f16; i++)
		search_put_f16(
			block + t->f16[i],
			search_nearest_f16((float)((double)block_f16(block + t->f16[i]) * by)));
}

/* True if type_encode removes the bias.  IQ1_S restores only its norm, not the slope
 * (search_codebook.c): the slope 1 raises the loss by a quarter on texts that a model predicts
 * well, and gains nothing on others.  From 4.5 bits on the slope is near 1. */
static int biased(const struct type *t)
{
	return !t->raised && t->info.block_bytes * 16 < 9 * t->info.block &&
	       (t->n_f16 || t->rescale);
}

void type_encode(int type, void *dst, const float *src, const float *importance, size_t blocks,
                 int how)
{
	const struct type *t = type_get(type);
	unsigned char *block = dst;
	const int n = t->info.block;
	float y[256];

	t->encode(dst, src, importance, blocks, how);
	if (how & ENCODE_PLAIN || !biased(t))
		return;
	for (size_t i = 0; i < blocks; i++, block += t->info.block_bytes, src += n) {
		t->decode(y, block, 1);
		rescale(t, block, 1 / slope(y, src, importance, n));
		importance += importance ? n : 0;
	}
}
