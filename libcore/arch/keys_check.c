/* arch/keys_check.c - refuse keys that were not read but may change the computation. */
#include "arch/arch.h"
#include "base/err.h"

/* Refuse a key whose value is not `expected`, the value of another key. */
static int check_same(struct arch_reader *r, enum arch_key key, double expected, infer_error *err)
{
	struct key_found f = arch_key_look(r, key);
	double x = expected;
	int flag;

	if (f.kind == KEY_FLAG) {
		TRY(r->keys.kind->flag(&r->keys, key, &flag, err));
		x = flag;
	} else if (f.kind) {
		TRY(r->keys.kind->real(&r->keys, key, KEY_SCALAR, &x, err));
	}
	return x == expected ? INFER_OK
	                     : arch_key_refuse(r, key, INFER_EUNSUP, err,
	                                       "%g is not supported: other layers or keys have %g",
	                                       x, expected);
}

/* Check keys that repeat others: those of other converters, and RoPE parameters of windowed layers
 * in architectures with one RoPE table. */
static int check_repeated(const struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	if (h->window && !r->read[K_ROPE_BASE_SWA])
		TRY(check_same(r, K_ROPE_BASE_SWA, h->rope[0].base, err));
	if (h->window && !r->read[K_ROPE_DIM_SWA])
		TRY(check_same(r, K_ROPE_DIM_SWA, h->n_rot, err));
	if (h->n_expert)
		TRY(check_same(r, K_NORM_TOP_K, h->expert_norm, err));
	return check_same(r, K_HEAD_DIM, h->dk, err);
}

/* Read element i as a number; flags are 0 or 1. */
static int read_element(struct arch_reader *r, enum arch_key key, enum key_kind kind, uint64_t i,
                        double *x, infer_error *err)
{
	int64_t flag;

	if (kind != KEY_FLAG)
		return r->keys.kind->real(&r->keys, key, i, x, err);
	TRY(r->keys.kind->whole(&r->keys, key, i, &flag, err));
	*x = (double)flag;
	return INFER_OK;
}

/* Refuse a value of a NEUTRAL key that is not one of its accepted values. */
static int check_value(const struct arch_reader *r, enum arch_key key, double x, infer_error *err)
{
	const struct key_row *row = &arch_key_rows[key];

	if (x == row->ok[0] || x == row->ok[1])
		return INFER_OK;
	return arch_key_refuse(r, key, INFER_EUNSUP, err,
	                       "%g is not supported with architecture %s", x, r->keys.arch->gguf);
}

/* Check the NEUTRAL keys that were not read. */
static int check_neutral(struct arch_reader *r, infer_error *err)
{
	for (enum arch_key key = 0; key < ARCH_KEYS; key++) {
		const struct key_row *row = &arch_key_rows[key];
		double x = 0;
		int flag;
		if (row->rule != KEY_NEUTRAL || r->read[key])
			continue;
		struct key_found f = arch_key_look(r, key);
		if (!f.kind || !f.n)
			continue;
		if (f.kind == KEY_FLAG && !f.list) {
			TRY(r->keys.kind->flag(&r->keys, key, &flag, err));
			TRY(check_value(r, key, flag, err));
			continue;
		}
		for (uint64_t i = 0; i < f.n; i++) {
			TRY(read_element(r, key, f.kind, i, &x, err));
			TRY(check_value(r, key, x, err));
		}
	}
	return INFER_OK;
}

static int is_known(const struct arch_reader *r, const struct arch_hparam *h, enum arch_key key)
{
	return key < ARCH_KEYS && (r->read[key] || arch_key_rows[key].rule == KEY_HARMLESS ||
	                           (arch_key_rows[key].rule == KEY_SLIDING && !h->window));
}

/* Set the error for an unknown key, with its value. */
static int refuse_unknown(const struct arch_reader *r, const struct key_seen *seen,
                          infer_error *err)
{
	enum { NAME = 128, VALUE = 80 };
	struct jwrite w;
	struct buf value;

	buf_init(&value, MEM_ARCH);
	jw_init(&w, &value);
	r->keys.kind->show(&r->keys, seen, &w);
	err_set(err, INFER_EUNSUP, "key %.*s: not known to architecture %s, value %.*s",
	        (int)(seen->name.len < NAME ? seen->name.len : NAME), seen->name.at,
	        r->keys.arch->gguf, (int)(value.len < VALUE ? value.len : VALUE),
	        value.bad ? "" : value.at);
	buf_fini(&value);
	return INFER_EUNSUP;
}

/* Refuse a key of the architecture that was not read and is not HARMLESS: it might change the
 * computation. */
static int check_unknown(const struct arch_hparam *h, const struct arch_reader *r, infer_error *err)
{
	struct key_seen seen;
	uint64_t cursor = 0;

	while (r->keys.kind->next(&r->keys, &cursor, &seen))
		if (!seen.empty && !is_known(r, h, seen.key))
			return refuse_unknown(r, &seen, err);
	return INFER_OK;
}

int arch_check_keys(const struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	TRY(check_repeated(h, r, err));
	TRY(check_neutral(r, err));
	return check_unknown(h, r, err);
}
