/* tests/fuzz/mutate.c - change a GGUF file and keep most of its structure: the file is read as far as
 * possible, some of its parts are changed, and it is written back, mostly with consistent counts and
 * offsets, so that the input of a fuzz target gets past the header.
 *
 * Under libFuzzer three of four mutations are made here, the others by libFuzzer, which does not know
 * the format. */
#include "mutate_values.h"

static void odd_scalar(struct gguf *g, uint32_t type, uint8_t *to)
{
	size_t width = widths[type];
	uint64_t v = 0;

	memcpy(&v, to, width);
	if (type == INFER_META_F32 || type == INFER_META_F64) {
		double d = PICK(g, odd_floats);
		float f = (float)d;
		if (!below(g, 12))
			f = __builtin_nanf(""), d = __builtin_nan("");
		memcpy(&v, type == INFER_META_F32 ? (void *)&f : (void *)&d, width);
	} else if (below(g, 2)) {
		v = PICK(g, odd_ints);
	} else {
		v = below(g, 3) ? v + below(g, 5) - 2 : v * (2 + below(g, 3));
	}
	if (type == INFER_META_BOOL && below(g, 8))
		v &= 1;
	memcpy(to, &v, width);
}

/* A string as a file stores it. */
static struct span new_string(struct gguf *g, struct span was)
{
	struct span s = odd_text(g);
	size_t extra = 64;
	uint8_t *p;

	if (g->raw && was.n < 4096 && below(g, 2) && (p = room(g, 8 + was.n + extra))) {
		memcpy(p + 8, was.at, was.n);
		s = (struct span){ p + 8, g->raw(p + 8, was.n, was.n + extra) };
		if (!s.n)
			s.at = (const uint8_t *)"";
	}
	p = room(g, 8 + s.n);
	if (!p)
		return (struct span){ (const uint8_t *)"\0\0\0\0\0\0\0", 8 };
	uint64_t n = below(g, 40) ? s.n : PICK(g, odd_ints);
	memcpy(p, &n, 8);
	memcpy(p + 8, s.at, s.n);
	return (struct span){ p, 8 + s.n };
}

/* Where element i of an array of strings begins. */
static size_t string_at(const struct span *v, uint64_t i)
{
	size_t pos = 12;

	while (i-- > 0)
		pos += 8 + (size_t)num_u64(v->at + pos);
	return pos;
}

/* The value with bytes [from, to) of it replaced. */
static void splice(struct gguf *g, struct span *v, size_t from, size_t to, struct span in)
{
	size_t n = v->n - (to - from) + in.n;
	uint8_t *p = room(g, n);

	if (!p)
		return;
	memcpy(p, v->at, from);
	if (in.n)
		memcpy(p + from, in.at, in.n);
	memcpy(p + from + in.n, v->at + to, v->n - to);
	*v = (struct span){ p, n };
}

static void set_count(struct gguf *g, struct span *v, uint64_t count)
{
	splice(g, v, 4, 12, (struct span){ (uint8_t *)&count, 8 });
}

static int is_whole_array(const struct key *k)
{
	struct reader r = { k->value.at, k->value.n, 0 };
	struct span v;

	return k->type == INFER_META_ARR && !take_value(&r, k->type, &v) && r.pos == r.n;
}

static void change_array(struct gguf *g, struct key *k)
{
	struct span *v = &k->value;
	uint32_t elem = num_u32(v->at), other = (uint32_t)below(g, 14);
	uint64_t count = num_u64(v->at + 4);
	size_t i = below(g, count), j = i + below(g, count - i + 1), width = widths[elem];
	size_t at = width ? 12 + i * width : string_at(v, i),
	       end = width ? 12 + j * width : string_at(v, j);

	switch (count ? below(g, 8) : below(g, 2)) {
	case 0:
		set_count(g, v, PICK(g, odd_ints));
		break;
	case 1:
		splice(g, v, 0, 4, (struct span){ (uint8_t *)&other, 4 });
		break;
	case 2: /* remove elements */
		splice(g, v, at, end, (struct span){ NULL, 0 });
		set_count(g, v, count - (j - i));
		break;
	case 3: /* repeat elements */
		splice(g, v, end, end, (struct span){ v->at + at, end - at });
		set_count(g, v, count + (j - i));
		break;
	default: /* change elements */
		for (size_t times = 1 + below(g, 4); times > 0; times--) {
			i = below(g, count);
			at = width ? 12 + i * width : string_at(v, i);
			if (!width) {
				size_t n = (size_t)num_u64(v->at + at);
				struct span s = new_string(g, (struct span){ v->at + at + 8, n });
				splice(g, v, at, at + 8 + n, s);
				if (num_u64(s.at) != s.n - 8)
					return; /* a false length: the other elements cannot be found any more */
				continue;
			}
			uint64_t x = 0;
			memcpy(&x, v->at + at, width);
			odd_scalar(g, elem, (uint8_t *)&x);
			splice(g, v, at, at + width, (struct span){ (uint8_t *)&x, width });
		}
	}
}

static void change_value(struct gguf *g, struct key *k)
{
	uint8_t *p;

	if (is_whole_array(k)) {
		change_array(g, k);
	} else if (k->type == INFER_META_STR && k->value.n >= 8) {
		k->value = new_string(g, (struct span){ k->value.at + 8, k->value.n - 8 });
	} else if (k->type < sizeof widths && widths[k->type] && k->value.n == widths[k->type] &&
	           (p = room(g, k->value.n))) {
		memcpy(p, k->value.at, k->value.n);
		odd_scalar(g, k->type, p);
		k->value.at = p;
	}
}

/* Give the key a new value, of a type that some key has. */
static void make_value(struct gguf *g, struct key *k)
{
	static const uint32_t types[] = { INFER_META_U32,  INFER_META_U32, INFER_META_U32,
		                          INFER_META_F32,  INFER_META_F32, INFER_META_STR,
		                          INFER_META_BOOL, INFER_META_U64, INFER_META_I32,
		                          INFER_META_ARR,  INFER_META_U16, INFER_META_F64 };
	size_t count = below(g, 5);
	uint8_t *p = room(g, 12 + 8 * 5);

	if (!p)
		return;
	memset(p, 0, 12 + 8 * 5);
	k->type = PICK(g, types);
	k->value = (struct span){ p, widths[k->type] };
	if (k->type == INFER_META_STR)
		k->value = new_string(g, (struct span){ p, 0 });
	else if (k->type != INFER_META_ARR)
		odd_scalar(g, k->type, p);
	if (k->type != INFER_META_ARR)
		return;
	uint32_t elem = types[below(g, 5)];
	memcpy(p, &elem, 4);
	p[4] = (uint8_t)count;
	for (size_t i = 0; i < count; i++)
		odd_scalar(g, elem, p + 12 + i * widths[elem]);
	k->value.n = 12 + count * widths[elem];
}

/* ---- changes */

static struct key *some_key(struct gguf *g)
{
	return g->n_keys ? &g->key[below(g, g->n_keys)] : NULL;
}
static struct tensor *some_tensor(struct gguf *g)
{
	return g->n_tensors ? &g->tensor[below(g, g->n_tensors)] : NULL;
}

static void values(struct gguf *g)
{
	struct key *k = some_key(g);

	if (k)
		change_value(g, k);
}

static void vocabulary(struct gguf *g)
{
	for (size_t i = 0; i < g->n_keys; i++)
		if (is_whole_array(&g->key[i]) && !below(g, 3))
			change_array(g, &g->key[i]);
}

static void known_keys(struct gguf *g)
{
	struct span name = known_key(g);
	size_t i = 0;

	while (i < g->n_keys &&
	       (g->key[i].name.n != name.n || memcmp(g->key[i].name.at, name.at, name.n)))
		i++;
	if (i == KEYS)
		return;
	g->n_keys += i == g->n_keys;
	g->key[i].name = name;
	g->key[i].name_n = name.n;
	make_value(g, &g->key[i]);
}

static void keys(struct gguf *g)
{
	struct key *k = some_key(g), *l = some_key(g), was;

	if (!k)
		return;
	was = *k;
	switch (below(g, 7)) {
	case 0:
		if (g->n_keys < KEYS)
			g->key[g->n_keys++] = *k;
		break;
	case 1:
		*k = g->key[--g->n_keys];
		break;
	case 2:
		*k = *l, *l = was;
		break;
	case 3:
		k->value = l->value, k->type = l->type;
		break;
	case 4:
		k->type = (uint32_t)PICK(g, ((const uint64_t[]){ 0, 1, 4, 5, 6, 7, 8, 9, 10, 12, 13,
		                                                 255, 1u << 31 }));
		break;
	case 5:
		k->name = known_key(g), k->name_n = k->name.n;
		break;
	default:
		k->name_n = PICK(g, odd_ints);
	}
}

static void counts(struct gguf *g)
{
	uint64_t v = below(g, 2) ? below(g, 5) - 2 : PICK(g, odd_ints);

	switch (below(g, 5)) {
	case 0:
	case 1:
		g->odd_keys = v;
		break;
	case 2:
	case 3:
		g->odd_tensors = v;
		break;
	default:
		g->version = below(g, 2) ? 2 + (uint32_t)below(g, 2) : (uint32_t)v;
	}
}

/* Make the data as long as the shape needs, by repeating what there is. */
static void fit(struct gguf *g, struct tensor *t)
{
	size_t n = data_bytes(t);
	uint8_t *p;

	if (!n || n == t->data.n || !(p = room(g, n)))
		return;
	for (size_t i = 0; i < n; i++)
		p[i] = t->data.n ? t->data.at[i % t->data.n] : (uint8_t)draw(g);
	t->data = (struct span){ p, n };
}

static void shape(struct gguf *g)
{
	struct tensor *t = some_tensor(g);
	static const uint8_t gguf_types[] = { 0,  0,  1,  2,  3,  6,  7,  8,  9,  10,
		                              11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
		                              21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
		                              34, 35, 39, 40, 41, 42, 4,  31, 99, 133 };

	if (!t)
		return;
	uint64_t *ne = &t->ne[below(g, t->n_dims < 4 ? t->n_dims + 1 : 4)], was = t->ne[0];
	switch (below(g, 7)) {
	case 0:
		*ne = PICK(g, odd_ints);
		break;
	case 1:
		*ne = below(g, 2) ? *ne + below(g, 5) - 2 : *ne * 2;
		break;
	case 2:
		t->ne[0] = t->ne[1], t->ne[1] = was;
		break;
	case 3:
		t->n_dims = below(g, 2) ? (uint32_t)PICK(g, odd_ints) : (uint32_t)below(g, 5);
		break;
	default:
		t->type = PICK(g, gguf_types);
	}
	if (below(g, 6))
		fit(g, t);
}

static void places(struct gguf *g)
{
	struct tensor *t = some_tensor(g);

	if (!t)
		return;
	t->kept_offset = 1;
	t->offset = below(g, 2) ? t->offset + g->align * (below(g, 3) - 1) : PICK(g, odd_ints);
}

static void tensors(struct gguf *g)
{
	struct tensor *t = some_tensor(g), *u = some_tensor(g), was;

	if (!t)
		return;
	was = *t;
	switch (below(g, 7)) {
	case 0:
	case 1: /* repeat, mostly under another name */
		if (g->n_tensors == TENSORS)
			return;
		u = &g->tensor[g->n_tensors++];
		*u = *t;
		if (below(g, 8))
			u->name = text(PICK(g, odd_tensors)), u->name_n = u->name.n;
		break;
	case 2:
		*t = g->tensor[--g->n_tensors];
		break;
	case 3:
		*t = *u, *u = was;
		break;
	case 4:
		t->name = u->name, t->name_n = u->name_n, u->name = was.name,
		u->name_n = was.name_n;
		break;
	case 5:
		t->name = text(PICK(g, odd_tensors)), t->name_n = t->name.n;
		break;
	default:
		t->name_n = PICK(g, odd_ints);
	}
}

static const struct {
	const char *at;
	uint8_t n;
} extremes[] = {
	{ "\0\0\xc0\x7f", 4 },
	{ "\0\0\x80\x7f", 4 },
	{ "\0\0\x80\xff", 4 },
	{ "\xff\xff\x7f\x7f", 4 },
	{ "\1\0\0\0", 4 },
	{ "\0\x7c", 2 },
	{ "\0\x7e", 2 },
	{ "\xff\x7b", 2 },
	{ "\xff\xff\xff\xff", 4 },
	{ "\x80", 1 },
	{ "\x7f", 1 },
	{ "\0", 1 },
};

static void data(struct gguf *g)
{
	struct tensor *t = some_tensor(g);
	uint8_t *p = t && t->data.n ? room(g, t->data.n) : NULL;

	if (!p)
		return;
	const struct infer_type_info *type = infer_type_info(infer_type_from_gguf(t->type));
	size_t x = below(g, sizeof extremes / sizeof *extremes), n = extremes[x].n,
	       step = type ? (size_t)type->block_bytes : 4;
	size_t at = below(g, 3) ? 0 : step - (n < step ? n : step), how = below(g, 5);
	memcpy(p, t->data.at, t->data.n);
	if (how == 0) /* everywhere, or in the scale of each block */
		step = n;
	if (how == 1)
		at += below(g, t->data.n / step) * step;
	for (size_t i = at; how < 3 && i + n <= t->data.n; i = how == 1 ? t->data.n : i + step)
		memcpy(p + i, extremes[x].at, n);
	for (size_t i = 1 + below(g, 32); how >= 3 && i > 0; i--)
		p[below(g, t->data.n)] = (uint8_t)draw(g);
	t->data.at = p;
}

/* Change the alignment: the key, and mostly the alignment of the data too. */
static void alignment(struct gguf *g)
{
	static const uint32_t powers[] = { 8, 16, 32, 64, 128, 256 };
	uint32_t v = below(g, 3) ? PICK(g, powers) : (uint32_t)PICK(g, odd_ints);
	struct span name = text("general.alignment");
	uint8_t *p = room(g, 4);
	size_t i = 0;

	while (i < g->n_keys &&
	       (g->key[i].name.n != name.n || memcmp(g->key[i].name.at, name.at, name.n)))
		i++;
	if (!p || i == KEYS)
		return;
	memcpy(p, &v, 4);
	g->n_keys += i == g->n_keys;
	g->key[i] = (struct key){ name, { p, 4 }, INFER_META_U32, name.n };
	if (v && v <= 4096 && !(v & (v - 1)) && below(g, 6))
		g->align = v;
}

static void ends(struct gguf *g)
{
	struct tensor *t = some_tensor(g);

	if (g->rest.n && below(g, 2))
		g->rest.n = below(g, g->rest.n);
	else if (t && below(g, 2))
		t->data.n = below(g, t->data.n + 1);
	else if (!g->rest.n)
		g->rest = odd_text(g);
}

static void (*const changes[])(struct gguf *) = {
	values,     values,  values, values, vocabulary, vocabulary, known_keys, known_keys,
	known_keys, keys,    keys,   counts, shape,      shape,      shape,      places,
	tensors,    tensors, data,   data,   data,       alignment,  ends,
};

/* Write to memory of its own first, because g points into data. */
static size_t write_over(const struct gguf *g, uint8_t *data, size_t most)
{
	uint8_t *to = malloc(most + !most);
	size_t n = to ? write_gguf(g, to, most) : 0;

	if (n)
		memcpy(data, to, n);
	free(to);
	return n;
}

size_t mutate_gguf(uint8_t *bytes, size_t n, size_t most, uint64_t seed, mutate_fn *raw)
{
	struct gguf *g = malloc(sizeof *g);
	size_t out = 0;

	if (g && !read_gguf(g, bytes, n, seed, raw)) {
		for (size_t times = 1 + below(g, 3); times > 0; times--)
			PICK(g, changes)(g);
		out = write_over(g, bytes, most);
	}
	free(g);
	return out;
}

size_t mutate_join(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out,
                   size_t most, uint64_t seed)
{
	struct gguf *g = malloc(sizeof *g), *h = malloc(sizeof *h);
	size_t n = 0;

	if (g && h && !read_gguf(g, a, n_a, seed, NULL) && !read_gguf(h, b, n_b, seed, NULL)) {
		struct key *k = some_key(h), *l = some_key(g);
		struct tensor *t = some_tensor(h), *u = some_tensor(g);
		for (size_t i = 0; k && i < g->n_keys; i++)
			if (g->key[i].name.n == k->name.n &&
			    !memcmp(g->key[i].name.at, k->name.at, k->name.n))
				l = &g->key[i];
		switch (below(g, 4)) {
		case 0:
			if (k && l)
				*l = *k;
			break;
		case 1:
			if (k && g->n_keys < KEYS)
				g->key[g->n_keys++] = *k;
			break;
		case 2:
			if (t && u)
				*u = *t;
			break;
		default:
			g->rest = h->rest;
		}
		n = write_gguf(g, out, most);
	}
	free(g);
	free(h);
	return n;
}

/* ---- libFuzzer */

__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b,
                                 uint8_t *out, size_t most, unsigned seed);

__attribute__((visibility("default"))) size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n,
                                                                      size_t most, unsigned seed)
{
	size_t now = seed % 4 ? mutate_gguf(bytes, n, most, seed, LLVMFuzzerMutate) : 0;

	return now || !LLVMFuzzerMutate ? now : LLVMFuzzerMutate(bytes, n, most);
}

__attribute__((visibility("default"))) size_t
LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out,
                          size_t most, unsigned seed)
{
	return mutate_join(a, n_a, b, n_b, out, most, seed);
}
