// Edits the job, or the text, of a poison message: from a file, or in the user's editor.
#pragma once
#include "api/cli/poison_selection.h"

namespace tidemark::cli {

/// The edited text in the form that the api takes, and the message that it changes.
struct EditedMessage {
  std::string content;
  std::string etag = {};  // of the message as it was when it was read for editing; empty if unknown
  std::string file = {};  // holds the text until it is saved

  [[nodiscard]] HttpHeaders condition() const;
};
/// Returns the job in a file or in the output of `poison show --json`; for a queue of the user, the text.
Result<EditedMessage> edited_in(const std::string& file, const PoisonQueue& queue);
/// Lets the user edit it in $VISUAL or $EDITOR; returns nothing if it was left as it is.
Result<std::optional<EditedMessage>> edit_by_hand(const GlobalOptions& options, const std::string& id,
                                                  const PoisonQueue& queue);
/// Saves it in place of the message's job or text. The file with the user's text is removed only after it is saved.
Result<nlohmann::json> save_edited(const GlobalOptions& options, const std::string& path, const EditedMessage& edited);
/// Decodes a text that was put in Base64, as some SDKs do; returns nothing if it was not.
std::optional<std::string> decoded_text(const std::string& text);

}  // namespace tidemark::cli
