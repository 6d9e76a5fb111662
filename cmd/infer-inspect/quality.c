/* infer-inspect/quality.c - how a file was quantised, and its quality loss, from its metadata. */
#include "inspect.h"

#include <string.h>

enum { SHORT = 12, ROOM = 72 }; /* SHORT: characters of a hash or type; ROOM: of a line */

/* Read the n numbers of a key.  Returns 0 if the key is missing or does not have n numbers. */
static int read_numbers(const infer_file *f, const char *key, double *v, uint64_t n)
{
	const struct infer_meta *m = infer_file_meta(f, key);

	if (!m || m->count != n || m->elem_type == INFER_META_STR)
		return 0;
	for (uint64_t i = 0; i < n; i++)
		if (infer_meta_elem_f64(f, m, i, &v[i], NULL))
			return 0;
	return 1;
}

static int read_quality_string(const infer_file *f, const char *key, struct infer_str *s)
{
	const struct infer_meta *m = infer_file_meta(f, key);
	size_t at = 0;

	return m && m->type == INFER_META_STR && !infer_meta_next_str(m, &at, s);
}

static void put_hash(struct buf *out, struct infer_str s)
{
	put_plain(out, (struct infer_str){ s.at, s.len < SHORT ? s.len : SHORT }, SHORT);
}

static void put_recipe(struct buf *out, const infer_file *f)
{
	const struct infer_meta *keep = infer_file_meta(f, "infer.quant.keep");
	struct infer_str s;
	size_t at = 0, from = out->len;

	if (!read_quality_string(f, "infer.quant.type", &s))
		return;
	buf_puts(out, "quantised  ");
	put_plain(out, s, SHORT);
	if (read_quality_string(f, "infer.quant.imatrix.sha256", &s)) {
		buf_puts(out, ", importances ");
		put_hash(out, s);
	}
	for (uint64_t i = 0; keep && keep->elem_type == INFER_META_STR && i < keep->count; i++) {
		if (infer_meta_next_str(keep, &at, &s) || out->len - from + s.len > ROOM) {
			buf_puts(out, ", ...");
			break;
		}
		buf_puts(out, ", ");
		put_plain(out, s, s.len);
	}
	buf_putc(out, '\n');
}

static void put_reference(struct buf *out, const infer_file *f)
{
	struct infer_str id;
	double kl[3], p99[3], most, top1[3], ref[2];

	if (!read_quality_string(f, "infer.quant.eval.reference.id", &id))
		return;
	buf_puts(out, "against    ");
	put_hash(out, id);
	if (read_numbers(f, "infer.quant.eval.reference.perplexity", ref, 2))
		buf_printf(out, ", perplexity %.6g +- %.3g", ref[0], ref[1]);
	if (!read_numbers(f, "infer.quant.eval.kl.mean", kl, 3) ||
	    !read_numbers(f, "infer.quant.eval.kl.p99", p99, 3) ||
	    !read_numbers(f, "infer.quant.eval.kl.max", &most, 1) ||
	    !read_numbers(f, "infer.quant.eval.top1", top1, 3)) {
		buf_putc(out, '\n');
		return;
	}
	buf_printf(out,
	           "\nlost       divergence %.4g (%.4g ... %.4g)\n"
	           "           99 %% of positions below %.4g, none above %.4g\n"
	           "           same first token at %.2f %% (%.2f ... %.2f)\n",
	           kl[0], kl[1], kl[2], p99[0], most, 100 * top1[0], 100 * top1[1], 100 * top1[2]);
}

void put_quality(struct buf *out, const infer_file *f)
{
	struct infer_str hash;
	double ppl[2], bytes;

	put_recipe(out, f);
	if (read_numbers(f, "infer.quant.eval.perplexity", ppl, 2) &&
	    read_quality_string(f, "infer.quant.eval.text.sha256", &hash) &&
	    read_numbers(f, "infer.quant.eval.text.bytes", &bytes, 1)) {
		buf_printf(out, "measured   perplexity %.6g +- %.3g on %.0f bytes, ", ppl[0],
		           ppl[1], bytes);
		put_hash(out, hash);
		buf_putc(out, '\n');
		put_reference(out, f);
	}
}
