/* infer/certificate.h - what a quantised model lost, kept in its file.   floor: quant
 *
 * The figures of an evaluation are keys of the metadata, infer.quant.eval.*; how the file was made
 * is infer.quant.type and the keys beside it, which infer_quant_opts.note writes.  infer-quant(1)
 * lists them. */
#ifndef INFER_CERTIFICATE_H
#define INFER_CERTIFICATE_H
#include <stdint.h>
#include <infer/engine.h>
#include <infer/eval.h>
#include <infer/file.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct infer_certificate {
	const struct infer_eval_text *eval;
	const char *sha256;         /* of the text's files, as sha256sum prints it */
	uint64_t text_bytes;        /* of these files */
	const infer_engine *engine; /* that of the model */
	const infer_file *ref;      /* of eval's reference; NULL: it has none */
};
/* Whether a file can take a certificate.
 * INFER_EINVAL  bytes in memory
 * INFER_EUNSUP  not GGUF, or compressed */
int infer_certificate_check(const infer_file *f, infer_error *err);
/* Write the figures into the file that f was opened from, instead of any that are there; of a split
 * model into its first file.  A new file is written beside it and takes its name when it is complete
 * and synced; f stays open on the old one.  The id of the model changes with its metadata; the same
 * figures give the same bytes.
 * INFER_EINVAL, INFER_EUNSUP as above; INFER_EIO also where the file was modified since it was
 * opened; INFER_ENOMEM */
int infer_certificate_write(const infer_file *f, const struct infer_certificate *c,
                            infer_error *err);
/* Whether a key says how a file was made or what it lost, and nothing about the model. */
int infer_certificate_is(struct infer_str key);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
