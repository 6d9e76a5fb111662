/* file/gguf_ollama.c - read GGUF files of Ollama's converter with the names that the public
 * converter writes.
 *
 * gptoss: the same model as gpt-oss.  Some tensors have other names.  The type of the RoPE scaling
 * and the size of experts are missing.  The pre-tokenizer is gpt-4o, whatever its key says.
 * gemma3: RoPE keys have other names or are missing, as is the epsilon.  Files of models that also
 * read images contain a vision tower, which is skipped. Tokens without an embedding are removed.
 * Source of the differences: llama/compat in the repository of Ollama. */
#include "base/arena.h"
#include "base/err.h"
#include "file/file.h"
#include "file/gguf.h"

#include <stdio.h>
#include <string.h>

enum { KEY_ROOM = 128, NAMES = 5 };

struct names {
	const char *theirs, *ours;
};

struct change {
	struct infer_file *f;
	struct arena *mem;
	struct file_meta meta; /* metadata with the new names */
};

/* One form of Ollama's files.  keys: without the architecture; names: parts of tensor names, each
 * once in a name. */
static const struct form {
	const char *theirs, *ours;
	struct names keys[NAMES], tensors[NAMES];
	const char *drop[NAMES];      /* prefixes of tensors to drop */
	const char *drop_keys[NAMES]; /* prefixes of keys to drop */
	const char *note;
	int (*is)(const struct infer_file *f);
	int (*fill)(struct change *c);
} forms[];

static const struct infer_meta *find_key(const struct infer_file *f, const char *arch,
                                         const char *key)
{
	char name[KEY_ROOM];

	snprintf(name, sizeof name, "%s.%s", arch, key);
	return file_meta_get(&f->meta, name);
}

static struct infer_str text_of(const struct infer_file *f, const char *key)
{
	const struct infer_meta *m = file_meta_get(&f->meta, key);
	const unsigned char *at = m && m->type == INFER_META_STR ? file_value(m)->at : NULL;

	return at ? (struct infer_str){ (const char *)at + 8, file_value(m)->bytes - 8 }
	          : (struct infer_str){ "", 0 };
}

static int str_equals(struct infer_str s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

static int starts(struct infer_str s, const char *with)
{
	return s.len >= strlen(with) && !memcmp(s.at, with, strlen(with));
}

/* ---- the metadata of the result ---- */

static int add_value(struct change *c, const char *key, int type, const void *value, size_t n)
{
	size_t k = strlen(key), head = type == INFER_META_STR ? 8 : 0;
	char *name = arena_strndup(c->mem, key, k);
	unsigned char *at = arena_raw(c->mem, head + n);

	if (!name || !at)
		return INFER_ENOMEM;
	for (size_t i = 0; i < head; i++)
		at[i] = (unsigned char)((uint64_t)n >> 8 * i);
	memcpy(at + head, value, n);
	const struct file_value v = {
		.meta = { .key = { name, k }, .type = type, .elem_type = type, .count = 1 },
		.at = at,
		.bytes = head + n
	};

	return file_meta_add(&c->meta, &v);
}

/* Add ARCH.key unless the result has it. */
static int fill_key(struct change *c, const char *arch, const char *key, int type,
                    const void *value, size_t n)
{
	char name[KEY_ROOM];

	snprintf(name, sizeof name, "%s.%s", arch, key);
	return file_meta_get(&c->meta, name) ? INFER_OK : add_value(c, name, type, value, n);
}

static int fill_f32(struct change *c, const char *arch, const char *key, float x)
{
	return fill_key(c, arch, key, INFER_META_F32, &x, sizeof x);
}

static int fill_text(struct change *c, const char *arch, const char *key, const char *text)
{
	return fill_key(c, arch, key, INFER_META_STR, text, strlen(text));
}

/* ---- functions of the forms ---- */

static int is_always(const struct infer_file *f)
{
	(void)f;
	return 1;
}

static int fill_gptoss(struct change *c)
{
	const struct infer_tensor *t = infer_file_tensor(c->f, "blk.0.ffn_gate_exps.weight");
	uint32_t size = t && t->ne[1] <= UINT32_MAX ? (uint32_t)t->ne[1] : 0;

	if (size)
		TRY(fill_key(c, "gpt-oss", "expert_feed_forward_length", INFER_META_U32, &size,
		             sizeof size));
	TRY(fill_text(c, "gpt-oss", "rope.scaling.type", "yarn"));
	return fill_text(c, "tokenizer.ggml", "pre", "gpt-4o");
}

static int is_gemma3(const struct infer_file *f)
{
	static const char *const marks[] = { "mm.tokens_per_image", "vision.block_count",
		                             "rope.global.freq_base", "rope.local.freq_base" };

	if (infer_file_tensor(f, "dense.0.weight"))
		return 0; /* no: EmbeddingGemma is another model */
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (find_key(f, "gemma3", marks[i]))
			return 1;
	return 0;
}

/* Truncate an array of the vocabulary to the tokens that have an embedding. */
static void cut_array(struct file_meta *meta, const char *key, uint64_t rows)
{
	const uint32_t *i = map_get(&meta->map, key, strlen(key));
	struct file_value *v = i ? &meta->at[*i] : NULL;
	size_t cursor = 0;
	struct infer_str s;

	if (!v || v->meta.type != INFER_META_ARR || v->meta.count <= rows)
		return;
	v->meta.count = rows;
	if (v->meta.elem_type != INFER_META_STR) {
		v->bytes = rows * file_meta_size[v->meta.elem_type];
		return;
	}
	for (uint64_t k = 0; k < rows; k++)
		infer_meta_next_str(&v->meta, &cursor, &s);
	v->bytes = cursor;
}

static int fill_gemma3(struct change *c)
{
	const struct infer_tensor *t = infer_file_tensor(c->f, "token_embd.weight");
	uint64_t context = 0;

	if (t) {
		cut_array(&c->meta, "tokenizer.ggml.tokens", (uint64_t)t->ne[1]);
		cut_array(&c->meta, "tokenizer.ggml.scores", (uint64_t)t->ne[1]);
		cut_array(&c->meta, "tokenizer.ggml.token_type", (uint64_t)t->ne[1]);
	}
	TRY(fill_f32(c, "gemma3", "attention.layer_norm_rms_epsilon", 1e-6f));
	TRY(fill_f32(c, "gemma3", "rope.freq_base", 1e6f));
	TRY(fill_f32(c, "gemma3", "rope.freq_base_swa", 1e4f));
	TRY(infer_meta_u64(c->f, "gemma3.context_length", &context, NULL, NULL));
	if (context < 131072) /* the 1B model has no RoPE scaling */
		return INFER_OK;
	TRY(fill_text(c, "gemma3", "rope.scaling.type", "linear"));
	return fill_f32(c, "gemma3", "rope.scaling.factor", 8);
}

static const struct form forms[] = {
	{ .theirs = "gptoss",
	  .ours = "gpt-oss",
	  .tensors = { { ".attn_out.", ".attn_output." },
	               { ".attn_sinks", ".attn_sinks.weight" },
	               { ".ffn_norm.", ".post_attention_norm." } },
	  .drop_keys = { "tokenizer.ggml.pre" },
	  .note = "architecture gptoss is read as gpt-oss: names of Ollama",
	  .is = is_always,
	  .fill = fill_gptoss },
	{ .theirs = "gemma3",
	  .ours = "gemma3",
	  .keys = { { "rope.global.freq_base", "rope.freq_base" },
	            { "rope.local.freq_base", "rope.freq_base_swa" } },
	  .drop = { "v.", "mm." },
	  .drop_keys = { "gemma3.vision.", "gemma3.mm." },
	  .note = "gemma3 with the keys of Ollama; a vision tower in the file is left alone",
	  .is = is_gemma3,
	  .fill = fill_gemma3 },
};

/* ---- apply a form ---- */

/* Set *out to the name of a key in the result. */
static int rename_key(struct infer_str *out, struct arena *mem, const struct form *t,
                      struct infer_str key)
{
	size_t head = strlen(t->theirs), room;
	struct infer_str rest = { key.at + head + 1, 0 };

	*out = key;
	if (!starts(key, t->theirs) || key.len <= head || key.at[head] != '.')
		return INFER_OK;
	rest.len = key.len - head - 1;
	for (int i = 0; i < NAMES && t->keys[i].theirs; i++)
		if (str_equals(rest, t->keys[i].theirs)) {
			rest = (struct infer_str){ t->keys[i].ours, strlen(t->keys[i].ours) };
			break;
		}
	room = strlen(t->ours) + 2 + rest.len;
	char *name = arena_raw(mem, room);

	if (!name)
		return INFER_ENOMEM;
	snprintf(name, room, "%s.%.*s", t->ours, (int)rest.len, rest.at);
	*out = (struct infer_str){ name, room - 1 };
	return INFER_OK;
}

static int drops(const char *const names[NAMES], struct infer_str name)
{
	for (int i = 0; i < NAMES && names[i]; i++)
		if (starts(name, names[i]))
			return 1;
	return 0;
}

static int change_keys(struct change *c, const struct form *t)
{
	for (uint32_t i = 0; i < c->f->meta.n; i++) {
		struct file_value *from = &c->f->meta.at[i], v = *from;

		if (drops(t->drop_keys, v.meta.key))
			continue;
		if (str_equals(v.meta.key, "general.architecture")) {
			TRY(add_value(c, "general.architecture", INFER_META_STR, t->ours,
			              strlen(t->ours)));
			continue;
		}
		TRY(rename_key(&v.meta.key, c->mem, t, v.meta.key));
		TRY(file_meta_add(&c->meta, &v));
		from->mark = NULL; /* v owns it now */
	}
	return t->fill(c);
}

/* Change the name of a tensor to that in the result. */
static int rename_tensor(struct infer_str *name, struct arena *mem, const struct form *t)
{
	for (int i = 0; i < NAMES && t->tensors[i].theirs; i++) {
		const struct names *n = &t->tensors[i];
		const char *at = memmem(name->at, name->len, n->theirs, strlen(n->theirs));
		size_t head = at ? (size_t)(at - name->at) : 0, theirs = strlen(n->theirs),
		       ours = strlen(n->ours), len = name->len - theirs + ours;

		if (!at || (n->theirs[theirs - 1] != '.' && head + theirs != name->len))
			continue;
		char *s = arena_raw(mem, len + 1);
		if (!s)
			return INFER_ENOMEM;
		memcpy(s, name->at, head);
		memcpy(s + head, n->ours, ours);
		memcpy(s + head + ours, at + theirs, name->len - head - theirs);
		s[len] = 0;
		*name = (struct infer_str){ s, len };
		return INFER_OK;
	}
	return INFER_OK;
}

static int change_tensors(struct infer_file *f, struct arena *mem, const struct form *t)
{
	uint32_t n = f->n_tensors;

	map_fini(&f->tensor_map);
	f->tensor_map = (struct map){ 0 };
	f->n_tensors = 0;
	if (map_init(&f->tensor_map, MEM_FILE, 64))
		return INFER_ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct infer_tensor one = f->tensors[i];

		if (drops(t->drop, one.name))
			continue;
		TRY(rename_tensor(&one.name, mem, t));
		TRY(file_tensor_add(f, &one));
	}
	return INFER_OK;
}

static int change_all(struct infer_file *f, const struct form *t)
{
	struct gguf_names *own = mem_zalloc(MEM_FILE, 1, sizeof *own);
	struct change c = { .f = f };

	if (!own)
		return INFER_ENOMEM;
	arena_init(&own->mem, MEM_FILE);
	f->own = own;
	c.mem = &own->mem;
	if (file_meta_init(&c.meta, NULL))
		return INFER_ENOMEM;
	int rc = change_keys(&c, t);

	if (rc) {
		file_meta_fini(&c.meta);
		return rc;
	}
	file_meta_fini(&f->meta);
	f->meta = c.meta;
	TRY(change_tensors(f, &own->mem, t));
	own->note = t->note;
	f->notes = &own->note;
	f->n_notes = 1;
	return INFER_OK;
}

int gguf_read_ollama(struct infer_file *f, infer_error *err)
{
	struct infer_str arch = text_of(f, "general.architecture");

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (!str_equals(arch, forms[i].theirs) || !forms[i].is(f))
			continue;
		int rc = change_all(f, &forms[i]);

		if (rc == INFER_ENOMEM)
			return err_set(err, rc, "%s: no memory", file_label(f->path));
		if (rc)
			return err_set(err, rc,
			               "%s: has a key or tensor both in Ollama's form and in "
			               "the usual one",
			               file_label(f->path));
		return INFER_OK;
	}
	return INFER_OK;
}

void gguf_close(struct infer_file *f)
{
	struct gguf_names *own = f->own;

	if (!own)
		return;
	arena_fini(&own->mem);
	mem_free(own);
	f->own = NULL;
}
