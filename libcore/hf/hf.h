/* hf/hf.h (private) - open the directory of a Hugging Face checkpoint as the GGUF file that the
 * public converter would write: with GGUF's keys, tensor names and tensor order.  So other modules
 * read one kind of file, and a directory and its conversion have the same digests.  format_hf
 * (dir.c) is the row of file/format_list.h.
 *
 *   dir.c          the files and their order;  refuse.c  unsupported directories
 *   file/safetensors.h   the tensors of a shard
 *   keys.c         config.json to keys of the architecture
 *   packed.h       quantised weights;  quant.c  their configuration
 *   tensors.c      tensors, by the tables of arch/: used in place, or copied if they must change
 *   tokenizer.c    tokenizer.json;  sentencepiece.c  tokenizer.model
 *   special.c      special tokens;  post.c  the post-processor;  template.c  chat templates
 *   general.c      general.*, generation_config.json;  card.c  README.md
 *   added.c        tokens added to a tokenizer.model
 *
 * Everything is checked before it is used; a message names the file and its key or tensor. */
#ifndef HF_HF_H
#define HF_HF_H
#include "arch/arch.h"
#include "base/arena.h"
#include "base/json.h"
#include "file/file.h"
#include "file/gguf_write.h"
#include "file/safetensors.h"

/* A mapped text file of the directory; at is NULL if the file is missing. */
struct hf_text {
	const char *name; /* such as "tokenizer.json" */
	const char *at;   /* [n] text, not NUL-terminated */
	size_t n;
};

/* A tensor [n] computed from config.json. */
struct hf_made {
	const char *name; /* name in GGUF */
	const float *at;
	int64_t n;
};

/* The quantisation configuration; at is NULL if there is none. */
struct hf_quant {
	const struct json *at;
	const char *file, *key; /* source: "config.json", "quantization_config" */
	const char *method;     /* quant_method, or the method implied by the other members */
};

enum { HF_DENSE = 2 };

/* A directory that is being opened.  Members are valid until it is closed, but see `brief`. */
struct hf_dir {
	struct infer_file *f; /* shards: the text files, then the safetensors files */
	const char *path;
	struct arena arena; /* freed when the directory is closed */
	struct arena brief; /* freed at the end of the opening */
	const struct json *config, *generation, *tokenizer_config; /* in `brief`; NULL: absent */
	struct hf_text tokenizer, sentencepiece; /* tokenizer.json, tokenizer.model */
	struct hf_text special_tokens,
		added_tokens; /* special_tokens_map.json, added_tokens.json */
	uint32_t
		unknown; /* 1 + the id of the unknown token in a unigram tokenizer.model; 0: none */
	struct hf_text added, post_processor; /* JSON texts of these members of tokenizer.json */
	struct hf_text vocab, merges;         /* vocab.json, vocab.txt; merges.txt */
	struct hf_text template;              /* chat_template.jinja */
	struct hf_text template_json;         /* chat_template.json */
	struct hf_text *more_templates;       /* additional_chat_templates/NAME.jinja */
	int n_more;
	struct hf_text
		quants[3];     /* quantize_config.json, quant_config.json, hf_quant_config.json */
	struct hf_quant quant; /* set by hf_quant_find; in `brief` */
	const struct json *text_config; /* the text model's part of config, or config */
	const struct arch *arch;
	const struct arch_hparam *hparam; /* parameters of `keys`; in `brief` */
	struct safetensors raw;           /* all tensors of all shards, by their own names */
	struct gguf_write *keys;          /* metadata written so far, in the order of the file */
	uint64_t private_bytes;           /* bytes of copied tensors */
	void *copies; /* [copies_bytes] the copied tensors, from os_reserve; NULL: none */
	size_t copies_bytes;
	struct hf_made made[3]; /* set by hf_keys; come first in the file */
	int n_made;
	struct safetensors dense[HF_DENSE]; /* files of dense layers, set by hf_dense */
	int n_dense;
	const char **notes; /* [n_notes] sentences of hf_note */
	int n_notes;
	struct buf head; /* the metadata as the bytes of a GGUF file, which f->meta points to */
};

/* Map a file of the directory as a shard without tensors.  *t stays {NULL} if the file is missing.
 * name: relative to the directory; lives as long as d.
 * INFER_EIO: it cannot be read; INFER_EUNSUP: a git-lfs pointer; INFER_ENOMEM */
int hf_text_read(struct hf_dir *d, const char *name, struct hf_text *t, infer_error *err);
/* Parse a text into d->brief.  *v: NULL if the file is missing.  The literal Infinity is read as
 * {"__float__":"Infinity"}.
 * INFER_EFORMAT: not JSON, or more than 300,000 values; INFER_ENOMEM */
int hf_json_read(struct hf_dir *d, const struct hf_text *t, const struct json **v,
                 infer_error *err);
/* List the names of the files in a folder of d ("": d itself), sorted, in d->brief.  *n: 0 if there
 * is no such folder.
 * INFER_EIO; INFER_EUNSUP: too many; INFER_ENOMEM */
int hf_list(struct hf_dir *d, const char *folder, const char *const **names, int *n,
            infer_error *err);
/* Set err as err_set does, with "DIR/name: " before the message.  Returns code. */
int hf_fail(const struct hf_dir *d, const char *name, int code, infer_error *err, const char *fmt,
            ...) __attribute__((format(printf, 5, 6), cold));
int hf_nomem(const struct hf_dir *d, infer_error *err); /* INFER_ENOMEM: "DIR: out of memory" */
/* Add a sentence about how the directory was opened, which -v prints: "attn_q of 16 layers: rows put
 * in GGUF's order, 64.0 MiB copied". */
int hf_note(struct hf_dir *d, infer_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* refuse.c: fail for an unsupported kind of directory or config.json.  The message names the kind
 * and what to do.
 * INFER_EUNSUP */
int hf_refuse_other(struct hf_dir *d, infer_error *err); /* call it before config.json is read */
/* Fail for a quantisation method without a row in packing_list.h; q->method NULL: unknown. */
int hf_refuse_method(const struct hf_dir *d, const struct hf_quant *q, infer_error *err);
/* shards.c: map the safetensors files and read their tables into d->raw.
 * INFER_EFORMAT: the index contradicts the files; INFER_EIO: a file in the index is missing */
int hf_shards(struct hf_dir *d, infer_error *err);

/* keys.c: set d->arch and write every key of the architecture.
 * INFER_EUNSUP: a class, a member or a value that is not supported; INFER_EFORMAT; INFER_ENOMEM */
int hf_keys(struct hf_dir *d, infer_error *err);
/* tensors.c: add every tensor of the architecture to d->f.  Copies are in d->copies.
 * INFER_EFORMAT: a tensor is missing, or has a wrong shape or type; INFER_EUNSUP: one is not used;
 * INFER_ENOMEM */
int hf_tensors(struct hf_dir *d, infer_error *err);
/* dense.c: read a dense layer of sentence-transformers from its folder.  hf_keys calls it in
 * the order of modules.json, after d->arch is set; hf_tensors adds the tensor.
 * INFER_EUNSUP: the architecture has no such layer, or too many layers; INFER_EFORMAT; INFER_EIO;
 * INFER_ENOMEM */
int hf_dense(struct hf_dir *d, const char *folder, infer_error *err);
/* tokenizer.c, sentencepiece.c: write the keys tokenizer.ggml.* of the vocabulary, from
 * tokenizer.json or from tokenizer.model.
 * INFER_EFORMAT, INFER_EUNSUP: the message names the member; INFER_ENOMEM */
int hf_tokenizer(struct hf_dir *d, infer_error *err);
int hf_sentencepiece(struct hf_dir *d, infer_error *err);
/* True if the vocabulary is read from tokenizer.model even if there is a tokenizer.json: the public
 * converter does so for the families that were published with it. */
int hf_sentencepiece_first(const struct hf_dir *d);
/* Set *n to the number of tokens: vocab_size of the config, else `count`, the tokenizer's.
 * INFER_EFORMAT: no tensor has a row for each token; INFER_EUNSUP: *n is 0 or too large */
int hf_vocab_size(const struct hf_dir *d, int64_t count, uint32_t *n, infer_error *err);
/* True if an added token that is not marked as special looks like a control token. */
int hf_looks_special(const char *s, size_t n);
/* special.c: read the array added_tokens of tokenizer.json into d->brief.  *all: NULL if there is
 * none.
 * INFER_EFORMAT; INFER_ENOMEM */
int hf_added_tokens(struct hf_dir *d, const struct json **all, infer_error *err);
/* special.c: write the ids of special tokens, add_bos and the like, chat templates, general.name
 * and sampling defaults.  Call it after the vocabulary.
 * INFER_EFORMAT; INFER_EUNSUP; INFER_ENOMEM */
int hf_special(struct hf_dir *d, infer_error *err);
/* card.c: read the first 64 KiB of README.md into d->brief.  card->at NULL: unreadable. */
void hf_card_read(struct hf_dir *d, struct hf_text *card);
/* Append the value of a key of the model card to `out`: a scalar on one line, or the elements of a
 * list with commas between.  Appends nothing if there is no such value. */
void hf_card_value(const struct hf_text *card, const char *key, struct buf *out);
/* general.c: write general.name, general.file_type and general.sampling.*.  hf_special calls it.
 * INFER_EFORMAT: a member of the wrong type; INFER_ENOMEM */
int hf_general(struct hf_dir *d, infer_error *err);
/* template.c: write the keys of chat templates.  hf_special calls it.
 * INFER_EFORMAT: a member of the wrong type, or two template names that are equal in GGUF;
 * INFER_ENOMEM */
int hf_templates(struct hf_dir *d, infer_error *err);
#endif
