/* arch/keys_gguf.c - keys "<architecture>.<name>" in the metadata of a GGUF file. */
#include "arch/keys.h"
#include "arch/arch.h"

#include <stdio.h>
#include <string.h>

const struct key_row arch_key_rows[ARCH_KEYS] = {
#define KEY(id, gguf, hf, rule, a, b) { #id, gguf, hf, KEY_##rule, { a, b } },
#include "arch/key_list.h"
#undef KEY
};

static void key_name(const struct arch_keys *k, enum arch_key key, char out[KEY_NAME])
{
	const char *gguf = arch_key_rows[key].gguf;

	snprintf(out, KEY_NAME, "%s.%s", k->arch->gguf, gguf ? gguf : arch_key_rows[key].hf);
}

static const struct infer_meta *find_meta(const struct arch_keys *k, enum arch_key key)
{
	char full[KEY_NAME];

	if (!arch_key_rows[key].gguf)
		return NULL;
	key_name(k, key, full);
	return infer_file_meta(k->file, full);
}

/* True if the file has the factors of longrope. The converter of phi3 writes no
 * rope.scaling.type. */
static int has_factors(const struct arch_keys *k)
{
	return infer_file_tensor(k->file, "rope_factors_long.weight") ||
	       infer_file_tensor(k->file, "rope_factors_short.weight");
}

static struct key_found find_value(const struct arch_keys *k, enum arch_key key)
{
	const struct infer_meta *m = find_meta(k, key);
	struct key_found f = { KEY_NUMBER, 0, 1 };

	if (!m && key == K_ROPE_TYPE && has_factors(k))
		return (struct key_found){ KEY_TEXT, 0, 1 };
	if (!m)
		return (struct key_found){ 0 };
	if (m->elem_type == INFER_META_BOOL)
		f.kind = KEY_FLAG;
	else if (m->elem_type == INFER_META_STR)
		f.kind = KEY_TEXT;
	f.list = m->type == INFER_META_ARR;
	f.n = m->count;
	return f;
}

static int read_integer(const struct arch_keys *k, enum arch_key key, uint64_t i, int64_t *v,
                        infer_error *err)
{
	return infer_meta_elem_i64(k->file, find_meta(k, key), i, v, err);
}

static int read_number(const struct arch_keys *k, enum arch_key key, uint64_t i, double *v,
                       infer_error *err)
{
	char full[KEY_NAME];

	if (i != KEY_SCALAR)
		return infer_meta_elem_f64(k->file, find_meta(k, key), i, v, err);
	key_name(k, key, full);
	return infer_meta_f64(k->file, full, v, NULL, err);
}

static int read_flag(const struct arch_keys *k, enum arch_key key, int *v, infer_error *err)
{
	char full[KEY_NAME];

	key_name(k, key, full);
	return infer_meta_bool(k->file, full, v, NULL, err);
}

static int read_string(const struct arch_keys *k, enum arch_key key, struct infer_str *v,
                       infer_error *err)
{
	static const char linear[] = "linear", longrope[] = "longrope";
	char full[KEY_NAME];

	key_name(k, key, full);
	if (key == K_ROPE_TYPE)
		*v = (struct infer_str){ linear, sizeof linear - 1 };
	if (infer_meta_str(k->file, full, v, NULL, err))
		return INFER_EFORMAT;
	if (key == K_ROPE_TYPE && v->len == sizeof linear - 1 && !memcmp(v->at, linear, v->len) &&
	    has_factors(k))
		*v = (struct infer_str){ longrope, sizeof longrope - 1 };
	return INFER_OK;
}

static int next_key(const struct arch_keys *k, uint64_t *cursor, struct key_seen *seen)
{
	size_t n = strlen(k->arch->gguf);
	const struct infer_meta *m;

	while ((m = infer_file_meta_at(k->file, (*cursor)++)))
		if (m->key.len > n && !memcmp(m->key.at, k->arch->gguf, n) && m->key.at[n] == '.')
			break;
	if (!m)
		return 0;
	struct infer_str rest = { m->key.at + n + 1, m->key.len - n - 1 };
	seen->name = m->key;
	seen->empty = m->type == INFER_META_ARR && !m->count;
	seen->value = m;
	for (seen->key = 0; seen->key < ARCH_KEYS; ++seen->key) {
		const char *gguf = arch_key_rows[seen->key].gguf;
		if (gguf && strlen(gguf) == rest.len && !memcmp(gguf, rest.at, rest.len))
			break;
	}
	return 1;
}

static void show_element(const infer_file *f, const struct infer_meta *m, uint64_t i,
                         struct jwrite *w)
{
	enum { MOST = 40 };
	const int whole_number = m->elem_type != INFER_META_F32 && m->elem_type != INFER_META_F64;
	char key[KEY_NAME];
	struct infer_str s;
	int64_t n;
	double x;
	int on = 0;

	if (m->elem_type == INFER_META_STR) {
		if (!infer_meta_str_at(f, m, i, &s, NULL))
			jw_strn(w, NULL, s.at, s.len < MOST ? s.len : MOST);
	} else if (m->type == INFER_META_BOOL) {
		snprintf(key, sizeof key, "%.*s", (int)(m->key.len < sizeof key ? m->key.len : 0),
		         m->key.at);
		if (!infer_meta_bool(f, key, &on, NULL, NULL))
			jw_bool(w, NULL, on);
	} else if (whole_number && !infer_meta_elem_i64(f, m, i, &n, NULL)) {
		jw_int(w, NULL, n);
	} else if (!infer_meta_elem_f64(f, m, i, &x, NULL)) {
		jw_num(w, NULL, x);
	}
}

static void show_value(const struct arch_keys *k, const struct key_seen *seen, struct jwrite *w)
{
	enum { MOST = 4 };
	const struct infer_meta *m = seen->value;

	if (m->type == INFER_META_ARR)
		jw_array(w, NULL);
	for (uint64_t i = 0; i < m->count && i < MOST; i++)
		show_element(k->file, m, i, w);
	if (m->type == INFER_META_ARR && m->count > MOST)
		jw_raw(w, NULL, "...", 3);
	if (m->type == INFER_META_ARR)
		jw_end(w);
}

static int check_nothing(const struct arch_keys *k, infer_error *err)
{
	(void)k;
	(void)err;
	return INFER_OK;
}

static const struct arch_keys_kind gguf_keys = { key_name,  find_value,   read_integer, read_number,
	                                         read_flag, read_string,  next_key,     show_value,
	                                         1,         check_nothing };

struct arch_keys arch_keys_gguf(const infer_file *file, const struct arch *a)
{
	return (struct arch_keys){ .kind = &gguf_keys, .arch = a, .file = file };
}
