/* arch/keys_check.c - keys that the architecture did not read: whatever may change the computation
 * is refused by name. */
#include "arch/arch.h"
#include "base/err.h"

/* Refuse a key whose value is not `want`, which another key says. */
static int check_same(struct arch_reader *r, enum arch_key key, double want, infer_error *err)
{
	struct key_found f = arch_key_look(r, key);
	double x = want;
	int flag;

	if (f.kind == KEY_FLAG) {
		TRY(r->keys.kind->flag(&r->keys, key, &flag, err));
		x = flag;
	} else if (f.kind) {
		TRY(r->keys.kind->real(&r->keys, key, KEY_SCALAR, &x, err));
	}
	return x == want ? INFER_OK
	                 : arch_key_refuse(r, key, INFER_EUNSUP, err,
	                                   "%g is not supported, other layers or keys have %g", x,
	                                   want);
}

/* Keys that other writers add, and the rotation of layers with a window in architectures that have
 * one rotation for all layers. */
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

/* A number, or a flag of a list, of which files of GGUF have no other reading. */
static int element(struct arch_reader *r, enum arch_key key, enum key_kind kind, uint64_t i,
                   double *x, infer_error *err)
{
	int64_t flag;

	if (kind != KEY_FLAG)
		return r->keys.kind->real(&r->keys, key, i, x, err);
	TRY(r->keys.kind->whole(&r->keys, key, i, &flag, err));
	*x = (double)flag;
	return INFER_OK;
}

/* Refuse a value of a NEUTRAL key that does not say "not used". */
static int check_value(const struct arch_reader *r, enum arch_key key, double x, infer_error *err)
{
	const struct key_row *row = &arch_key_rows[key];

	if (x == row->ok[0] || x == row->ok[1])
		return INFER_OK;
	return arch_key_refuse(r, key, INFER_EUNSUP, err,
	                       "%g is not supported with architecture %s", x, r->keys.arch->gguf);
}

/* Check the value of a key that was not read, if the key has an effect that is not supported. */
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
			TRY(element(r, key, f.kind, i, &x, err));
			TRY(check_value(r, key, x, err));
		}
	}
	return INFER_OK;
}

static int known(const struct arch_reader *r, const struct arch_hparam *h, enum arch_key key)
{
	return key < ARCH_KEYS && (r->read[key] || arch_key_rows[key].rule == KEY_HARMLESS ||
	                           (arch_key_rows[key].rule == KEY_SLIDING && !h->window));
}

/* The error of a key that the architecture does not have. */
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

/* Refuse a key of the architecture that was not read and that the list does not call harmless:
 * whatever it means, it may change the computation. */
static int check_unknown(const struct arch_hparam *h, const struct arch_reader *r, infer_error *err)
{
	struct key_seen seen;
	uint64_t cursor = 0;

	while (r->keys.kind->next(&r->keys, &cursor, &seen))
		if (!seen.empty && !known(r, h, seen.key))
			return refuse_unknown(r, &seen, err);
	return INFER_OK;
}

int arch_check_keys(const struct arch_hparam *h, struct arch_reader *r, infer_error *err)
{
	TRY(check_repeated(h, r, err));
	TRY(check_neutral(r, err));
	return check_unknown(h, r, err);
}
