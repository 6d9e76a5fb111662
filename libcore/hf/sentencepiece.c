/* hf/sentencepiece.c - convert tokenizer.model, the vocabulary of SentencePiece, to keys
 * tokenizer.ggml.*.  The file is a protocol-buffer message:
 * https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto */
#include "base/err.h"
#include "base/num.h"
#include "base/utf8.h"
#include "hf/spm.h"

#include <stdio.h>
#include <string.h>

#define KEY(x) "tokenizer.ggml." x

enum wire { VARINT, FIXED64, BYTES, FIXED32 = 5 };

/* A protocol-buffer message: the bytes that are not read yet. */
struct proto {
	const struct hf_dir *d; /* for messages */
	const unsigned char *at, *end;
	const unsigned char *start; /* start of the file, for offsets in messages */
	const char *name;           /* name of the message */
};
/* One field of a message. */
struct field {
	unsigned number, wire;
	uint64_t value;          /* if wire is VARINT, FIXED32 or FIXED64 */
	const unsigned char *at; /* if wire is BYTES */
	size_t n;
};
static int fail_damaged(const struct proto *p, const char *what, infer_error *err)
{
	return hf_fail(p->d, SPM_FILE, INFER_EFORMAT, err, "%s, byte %zu: %s", p->name,
	               (size_t)(p->at - p->start), what);
}

static int read_varint(struct proto *p, uint64_t *v, infer_error *err)
{
	const struct proto from = *p;

	*v = 0;
	for (unsigned shift = 0; p->at < p->end && shift < 64; shift += 7) {
		unsigned char c = *p->at++;
		*v |= (uint64_t)(c & 127) << shift;
		if (c < 128)
			return shift < 63 || c < 2
			               ? INFER_OK
			               : fail_damaged(&from, "a number of more than 64 bits", err);
	}
	return fail_damaged(&from, "a number that does not end", err);
}

/* Read the next field of p, which is not at its end. */
static int read_field(struct proto *p, struct field *f, infer_error *err)
{
	const struct proto from = *p;
	uint64_t tag;

	*f = (struct field){ 0 };
	TRY(read_varint(p, &tag, err));
	if (!(tag >> 3) || tag >> 3 > 536870911)
		return fail_damaged(&from, "a field number that must be 1 ... 536870911", err);
	f->number = (unsigned)(tag >> 3);
	f->wire = tag & 7;
	size_t left = (size_t)(p->end - p->at);
	switch (f->wire) {
	case VARINT:
		return read_varint(p, &f->value, err);
	case BYTES:
		TRY(read_varint(p, &f->value, err));
		left = (size_t)(p->end - p->at);
		if (f->value > left)
			return fail_damaged(&from, "a field that is longer than what follows", err);
		f->at = p->at;
		f->n = (size_t)f->value;
		break;
	case FIXED32:
	case FIXED64:
		f->n = f->wire == FIXED32 ? 4 : 8;
		if (f->n > left)
			return fail_damaged(&from, "a number that is cut off", err);
		f->value = f->n == 4 ? num_u32(p->at) : num_u64(p->at);
		break;
	default:
		return fail_damaged(&from, "a field of an unknown wire type", err);
	}
	p->at += f->n;
	return INFER_OK;
}

/* Return the message in a field of p. */
static struct proto sub_message(const struct proto *p, const struct field *f, const char *name)
{
	return (struct proto){ p->d, f->at, f->at + f->n, p->start, name };
}

static int check_wire_type(const struct proto *p, const struct field *f, unsigned wire,
                           infer_error *err)
{
	if (f->wire == wire)
		return INFER_OK;
	return hf_fail(p->d, SPM_FILE, INFER_EFORMAT, err,
	               "field %u of %s must have wire type %u, not %u", f->number, p->name, wire,
	               f->wire);
}

static int check_piece(const struct spm *s, const struct spm_piece *x, infer_error *err)
{
	if (!x->n)
		return hf_fail(s->d, SPM_FILE, INFER_EFORMAT, err, "piece %u is empty", s->n);
	if (utf8_check(x->at, x->n) != x->n)
		return hf_fail(s->d, SPM_FILE, INFER_EFORMAT, err, "piece %u is not UTF-8", s->n);
	if (x->score != x->score)
		return hf_fail(s->d, SPM_FILE, INFER_EFORMAT, err,
		               "the score of piece %u is not a number", s->n);
	if (x->type < SPM_NORMAL || x->type > SPM_BYTE)
		return hf_fail(s->d, SPM_FILE, INFER_EFORMAT, err,
		               "piece %u has type %d, not 1 ... 6", s->n, x->type);
	return INFER_OK;
}

/* Read ModelProto.SentencePiece: piece 1, score 2, type 3. */
static int read_piece(struct spm *s, struct proto p, infer_error *err)
{
	struct spm_piece x = { .at = "", .type = SPM_NORMAL };
	struct field f;

	while (p.at < p.end) {
		TRY(read_field(&p, &f, err));
		if (f.number == 1) {
			TRY(check_wire_type(&p, &f, BYTES, err));
			x.at = (const char *)f.at;
			x.n = f.n;
		} else if (f.number == 2) {
			TRY(check_wire_type(&p, &f, FIXED32, err));
			x.score = num_float((uint32_t)f.value);
		} else if (f.number == 3) {
			TRY(check_wire_type(&p, &f, VARINT, err));
			x.type = f.value > SPM_BYTE ? SPM_BYTE + 1 : (int)f.value;
		} else {
			return hf_fail(s->d, SPM_FILE, INFER_EUNSUP, err,
			               "field %u of piece %u is not supported", f.number, s->n);
		}
	}
	TRY(check_piece(s, &x, err));
	s->piece[s->n++] = x;
	return INFER_OK;
}

/* Read the fields of TrainerSpec that change encoding; the others describe the training. */
static int read_trainer(struct spm *s, struct proto p, infer_error *err)
{
	struct field f;

	while (p.at < p.end) {
		TRY(read_field(&p, &f, err));
		if (f.number != 3 && f.number != 24)
			continue;
		TRY(check_wire_type(&p, &f, VARINT, err));
		if (f.number == 3)
			s->model = f.value > 4 ? 0 : (int)f.value;
		else if (f.value)
			return hf_fail(s->d, SPM_FILE, INFER_EUNSUP, err,
			               "treat_whitespace_as_suffix of trainer_spec is "
			               "not supported");
	}
	if (s->model == SPM_UNIGRAM || s->model == SPM_BPE)
		return INFER_OK;
	return hf_fail(s->d, SPM_FILE, INFER_EUNSUP, err,
	               "model_type %s of trainer_spec is not supported, only UNIGRAM and "
	               "BPE are",
	               s->model == 3   ? "WORD"
	               : s->model == 4 ? "CHAR"
	                               : "(unknown)");
}

/* Read NormalizerSpec: name 1, precompiled_charsmap 2, add_dummy_prefix 3, remove_extra_whitespaces
 * 4, escape_whitespaces 5, normalization_rule_tsv 6. */
static int read_normalizer(struct spm *s, struct proto p, infer_error *err)
{
	static const char *const name[] = { [3] = "add_dummy_prefix",
		                            [4] = "remove_extra_whitespaces",
		                            [5] = "escape_whitespaces" };
	struct field f;

	while (p.at < p.end) {
		TRY(read_field(&p, &f, err));
		if (f.number == 2) {
			TRY(check_wire_type(&p, &f, BYTES, err));
			s->charsmap = f.at;
			s->charsmap_n = f.n;
		} else if (f.number >= 3 && f.number <= 5) {
			TRY(check_wire_type(&p, &f, VARINT, err));
			if (f.number == 5 && !f.value)
				return hf_fail(s->d, SPM_FILE, INFER_EUNSUP, err,
				               "%s = false of normalizer_spec is not "
				               "supported",
				               name[f.number]);
			if (f.number == 3)
				s->dummy_prefix = f.value != 0;
			else if (f.number == 4)
				s->squeeze = f.value != 0;
		} else if (f.number != 1 && f.number != 6) {
			return hf_fail(s->d, SPM_FILE, INFER_EUNSUP, err,
			               "field %u of normalizer_spec is not supported", f.number);
		}
	}
	return INFER_OK;
}

/* Check the denormaliser, which changes decoded text: only one without rules is supported. */
static int check_denormalizer(struct proto p, infer_error *err)
{
	struct field f;

	while (p.at < p.end) {
		TRY(read_field(&p, &f, err));
		if (f.number == 2 && f.n)
			return hf_fail(p.d, SPM_FILE, INFER_EUNSUP, err,
			               "precompiled_charsmap of denormalizer_spec is not "
			               "supported");
	}
	return INFER_OK;
}

/* Count the pieces, to allocate once. */
static int count_pieces(struct proto p, uint32_t *n, infer_error *err)
{
	struct field f;

	*n = 0;
	while (p.at < p.end) {
		TRY(read_field(&p, &f, err));
		*n += f.number == 1 && f.wire == BYTES;
	}
	return INFER_OK;
}

static int read_model(struct spm *s, struct proto p, infer_error *err)
{
	struct field f;

	while (p.at < p.end) {
		TRY(read_field(&p, &f, err));
		if (f.number < 1 || f.number > 5)
			return hf_fail(s->d, SPM_FILE, INFER_EUNSUP, err,
			               "field %u of the model is not supported", f.number);
		TRY(check_wire_type(&p, &f, BYTES, err));
		if (f.number == 1)
			TRY(read_piece(s, sub_message(&p, &f, "a piece"), err));
		else if (f.number == 2)
			TRY(read_trainer(s, sub_message(&p, &f, "trainer_spec"), err));
		else if (f.number == 3)
			TRY(read_normalizer(s, sub_message(&p, &f, "normalizer_spec"), err));
		else if (f.number == 5)
			TRY(check_denormalizer(sub_message(&p, &f, "denormalizer_spec"), err));
	}
	return INFER_OK;
}

/* True if the file begins with a piece, as every file of SentencePiece does. */
static int is_sentencepiece(const struct hf_text *t) { return t->n > 2 && t->at[0] == 0x0a; }

int hf_sentencepiece_first(const struct hf_dir *d)
{
	static const char *const first[] = { "llama",    "granite",   "granitemoe", "granitehybrid",
		                             "gemma2",   "gemma3",    "gemma3n",    "qwen2",
		                             "qwen2moe", "qwen3",     "qwen3moe",   "qwen3next",
		                             "qwen35",   "qwen35moe", "smollm3",    "phi3" };

	if (!d->tokenizer.at || !d->sentencepiece.at)
		return d->sentencepiece.at != NULL;
	if (!is_sentencepiece(&d->sentencepiece))
		return 0;
	if (!strcmp(d->arch->gguf, "phi3") &&
	    json_equals(json_get(d->tokenizer_config, "tokenizer_class"), "GPT2Tokenizer"))
		return 0;
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (!strcmp(d->arch->gguf, first[i]))
			return 1;
	return 0;
}

int hf_vocab_size(const struct hf_dir *d, int64_t count, uint32_t *n, infer_error *err)
{
	const struct json *v = json_get(d->text_config, "vocab_size");
	uint64_t most = 0;

	if (v && !json_is_null(v) && (v->kind != JSON_INT || v->i < 1 || v->i > INT32_MAX))
		return hf_fail(d, "config.json", INFER_EFORMAT, err,
		               "vocab_size must be an integer of 1 ... %d", INT32_MAX);
	int64_t size = json_is(v, JSON_INT) ? v->i : count;
	for (uint32_t i = 0; i < d->raw.n; i++)
		if (d->raw.at[i].n_dims && d->raw.at[i].bytes >= (uint64_t)size &&
		    (uint64_t)d->raw.at[i].shape[0] > most)
			most = (uint64_t)d->raw.at[i].shape[0];
	if (d->raw.n && (uint64_t)size > most && size > count)
		return hf_fail(d, "config.json", INFER_EFORMAT, err,
		               "vocab_size is %lld, but no tensor has so many rows",
		               (long long)size);
	if (size < 1 || size > INT32_MAX)
		return hf_fail(d, "config.json", INFER_EUNSUP, err,
		               "a vocabulary of %lld tokens is not supported", (long long)size);
	*n = (uint32_t)size;
	return INFER_OK;
}

/* Set the type of user-defined pieces.  A GGUF reader matches them in the original text, where
 * U+2581 is a space; SentencePiece in normalised text, where a piece with a space never matches.
 * If a space is added before a text, a reader would also add one after such a token; then it
 * becomes a normal piece, as in files of the public converter. */
static int set_users(struct hf_dir *d, struct spm *s, uint32_t count, infer_error *err)
{
	uint32_t changed = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct spm_piece *x = &s->piece[i];

		if (x->type != SPM_USER)
			continue;
		if (!s->dummy_prefix && !memchr(x->at, ' ', x->n)) {
			TRY(spm_with_spaces(d, x, err));
			continue;
		}
		x->type = SPM_NORMAL;
		changed++;
	}
	return changed ? hf_note(d, err, SPM_FILE ": %u user-defined pieces are normal pieces",
	                         changed)
	               : INFER_OK;
}

/* Add padding tokens with the ids from `from` to s->n - 1. */
static int pad_vocabulary(struct hf_dir *d, struct spm *s, uint32_t from, infer_error *err)
{
	for (uint32_t i = from; i < s->n; i++) {
		char text[32];
		int n = snprintf(text, sizeof text, "[PAD%u]", i);

		s->piece[i] = (struct spm_piece){ arena_strndup(&d->brief, text, (size_t)n),
			                          (size_t)n, -10000, SPM_UNUSED };
	}
	return d->brief.bad
	               ? hf_fail(d, SPM_FILE, INFER_ENOMEM, err, "no memory for %u tokens", s->n)
	               : INFER_OK;
}

static int put_pieces(struct hf_dir *d, const struct spm *s, infer_error *err)
{
	float *score = arena_raw(&d->brief, (size_t)s->n * sizeof *score + 1);
	int32_t *type = arena_raw(&d->brief, (size_t)s->n * sizeof *type + 1);
	struct buf text;
	int rc;

	buf_init(&text, MEM_FILE);
	for (uint32_t i = 0; i < s->n && score && type; i++) {
		gguf_put_str(&text, s->piece[i].at, s->piece[i].n);
		score[i] = s->piece[i].score;
		type[i] = s->piece[i].type;
	}
	rc = text.bad || !score || !type
	             ? hf_fail(d, SPM_FILE, INFER_ENOMEM, err, "no memory for %u tokens", s->n)
	             : INFER_OK;
	if (!rc) {
		gguf_write_array(d->keys, KEY("tokens"), INFER_META_STR, s->n, text.at, text.len);
		gguf_write_array(d->keys, KEY("scores"), INFER_META_F32, s->n, score,
		                 s->n * sizeof *score);
		gguf_write_array(d->keys, KEY("token_type"), INFER_META_I32, s->n, type,
		                 s->n * sizeof *type);
	}
	buf_fini(&text);
	return rc;
}

/* Write the keys of normalisation.  For the tokenizer kind llama, add_space_prefix is written only
 * if it differs from the default of GGUF readers. */
static int put_spm_normalizer(struct hf_dir *d, const struct spm *s, infer_error *err)
{
	const struct json *prefix = json_get(d->tokenizer_config, "add_prefix_space");
	int front = s->dummy_prefix, unigram = s->model == SPM_UNIGRAM;

	if (prefix && !json_is_bool(prefix) && !json_is_null(prefix))
		return hf_fail(d, "tokenizer_config.json", INFER_EFORMAT, err,
		               "add_prefix_space must be true or false");
	if (json_is_bool(prefix) && !strcmp(d->arch->gguf, "llama"))
		front = prefix->kind == JSON_TRUE;
	if (unigram || !front || json_is_bool(prefix))
		gguf_write_bool(d->keys, KEY("add_space_prefix"), front);
	if (unigram || s->squeeze)
		gguf_write_bool(d->keys, KEY("remove_extra_whitespaces"), s->squeeze);
	if (s->charsmap_n)
		gguf_write_array(d->keys, KEY("precompiled_charsmap"), INFER_META_U8, s->charsmap_n,
		                 s->charsmap, s->charsmap_n);
	return INFER_OK;
}

int hf_sentencepiece(struct hf_dir *d, infer_error *err)
{
	const unsigned char *at = (const unsigned char *)d->sentencepiece.at;
	struct proto all = { d, at, at + d->sentencepiece.n, at, "the model" };
	struct spm s = { .d = d, .model = SPM_UNIGRAM, .dummy_prefix = 1, .squeeze = 1 };
	uint32_t n, count;

	if (!is_sentencepiece(&d->sentencepiece))
		return hf_fail(
			d, SPM_FILE, INFER_EUNSUP, err,
			"not a file of SentencePiece; a tokenizer.json of the same model is read");
	TRY(count_pieces(all, &count, err));
	if (!count)
		return hf_fail(d, SPM_FILE, INFER_EFORMAT, err, "there are no pieces");
	TRY(hf_vocab_size(d, count, &n, err));
	s.cap = n > count ? n : count;
	s.piece = arena_alloc(&d->brief, s.cap, sizeof *s.piece);
	if (!s.piece)
		return hf_fail(d, SPM_FILE, INFER_ENOMEM, err, "no memory for %u tokens", s.cap);
	TRY(read_model(&s, all, err));
	TRY(set_users(d, &s, count, err));
	for (uint32_t i = 0; i < count && s.model == SPM_UNIGRAM; i++)
		if (s.piece[i].type == SPM_UNKNOWN)
			d->unknown = i + 1;
	s.n = n;
	TRY(pad_vocabulary(d, &s, count, err));
	TRY(spm_add(d, &s, err));
	gguf_write_str(d->keys, KEY("model"), s.model == SPM_BPE ? "llama" : "t5",
	               s.model == SPM_BPE ? 5 : 2);
	gguf_write_str(d->keys, KEY("pre"), "default", 7);
	TRY(put_pieces(d, &s, err));
	return put_spm_normalizer(d, &s, err);
}
