// Package transformer runs small language models on the CPU: sentence encoders and cross-encoders of the BERT
// and XLM-RoBERTa families, such as all-MiniLM-L6-v2, multilingual-e5-small and ms-marco-MiniLM-L-6-v2, and
// static models in model2vec's format. It reads a model's folder in the layout of the Hugging Face hub:
//
//	model.safetensors                    weights: F32, F16 or BF16; in static models also F64 and I8
//	config.json                          sizes
//	tokenizer.json, or else vocab.txt    WordPiece or Unigram; vocab.txt with tokenizer_config.json
//	modules.json, 1_Pooling/config.json  how to combine the tokens' vectors; without them, their mean
//	sentence_bert_config.json            the model's maximum number of tokens
//	config_sentence_transformers.json    the prefixes of a question ("query") and a document
//
// A model with an unsupported feature is not approximated: the error names the feature. A damaged or hostile
// folder is also an error. Reading a folder takes memory of at most a few times the folder's size.
//
// Numbers are float32, as in the published models. Results agree with other implementations to about six
// digits, or to four digits for a large vocabulary, whose embeddings are stored with 8 bits. The package has
// no network access and no state between calls.
package transformer
