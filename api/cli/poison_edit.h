// Editing the job, or the text, of a poison message: from a file, or in the editor of whoever asks.
#pragma once
#include "api/cli/poison_selection.h"

namespace tidemark::cli {

/// What the api takes, and what it is a change of.
struct EditedMessage {
  std::string content;
  std::string etag = {};  // of the message as whoever edited it saw it; empty if that is not known
  std::string file = {};  // where it is until it is saved

  [[nodiscard]] HttpHeaders condition() const;
};
/// The job in a file, or in what `poison show --json` printed of one; of a queue of yours, its text.
Result<EditedMessage> edited_in(const std::string& file, const PoisonQueue& queue);
/// In $VISUAL or $EDITOR; nothing if it was left as it is.
Result<std::optional<EditedMessage>> edit_by_hand(const GlobalOptions& options, const std::string& id,
                                                  const PoisonQueue& queue);
/// Saves it in place of the message's job or text. What was written by hand is lost only when it is saved.
Result<nlohmann::json> save_edited(const GlobalOptions& options, const std::string& path, const EditedMessage& edited);
/// A text that was put in Base64, as some SDKs do, as what it says; nothing if it was not.
std::optional<std::string> decoded_text(const std::string& text);

}  // namespace tidemark::cli
