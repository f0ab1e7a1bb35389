// Every way a request can fail, with the number that crosses processes, the HTTP status and the Azure error name.
// Names, statuses and texts follow the service's REST documentation; the ones below "Tidemark" are our own.
// Numbers never change meaning: they are stored in poison records and cross process boundaries.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

// X(number, Name, http status, default client message)
#define TIDEMARK_ERROR_CODES(X)                                                                                        \
  /* any service */                                                                                                    \
  X(1, InvalidInput, 400, "One of the request inputs is not valid.")                                                   \
  X(2, InvalidUri, 400, "The requested URI does not represent any resource on the server.")                            \
  X(3, InvalidHeaderValue, 400, "The value for one of the HTTP headers is not in the correct format.")                 \
  X(4, MissingRequiredHeader, 400, "An HTTP header that's mandatory for this request is not specified.")               \
  X(5, InvalidQueryParameterValue, 400,                                                                                \
    "Value for one of the query parameters specified in the request URI is invalid.")                                  \
  X(6, MissingRequiredQueryParameter, 400, "A query parameter that's mandatory for this request is not specified.")    \
  X(7, OutOfRangeQueryParameterValue, 400,                                                                             \
    "One of the query parameters specified in the request URI is outside the permissible range.")                      \
  X(8, OutOfRangeInput, 400, "One of the request inputs is out of range.")                                             \
  X(9, InvalidXmlDocument, 400, "XML specified is not syntactically valid.")                                           \
  X(10, InvalidXmlNodeValue, 400, "The value for one of the XML nodes is not in the correct format.")                  \
  X(11, MissingRequiredXmlNode, 400, "A required XML node was not specified in the request body.")                     \
  X(12, InvalidMetadata, 400, "The metadata specified is invalid. It has characters that are not permitted.")          \
  X(13, EmptyMetadataKey, 400, "The key for one of the metadata key-value pairs is empty.")                            \
  X(14, MetadataTooLarge, 400, "The metadata specified exceeds the maximum permissible limit.")                        \
  X(15, InvalidResourceName, 400, "The specifed resource name contains invalid characters.")                           \
  X(16, InvalidAuthenticationInfo, 400,                                                                                \
    "The authentication information was not provided in the correct format. Verify the value of Authorization "        \
    "header.")                                                                                                         \
  X(17, Md5Mismatch, 400,                                                                                              \
    "The MD5 value specified in the request did not match the MD5 value calculated by the server.")                    \
  X(18, InvalidMd5, 400,                                                                                               \
    "The MD5 value specified in the request is invalid. MD5 value must be 128 bits and base64 encoded.")               \
  X(19, NoAuthenticationInformation, 401,                                                                              \
    "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.")      \
  X(20, AuthenticationFailed, 403,                                                                                     \
    "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly "      \
    "including the signature.")                                                                                        \
  X(21, AuthorizationFailure, 403, "This request is not authorized to perform this operation.")                        \
  X(22, AuthorizationPermissionMismatch, 403,                                                                          \
    "This request is not authorized to perform this operation using this permission.")                                 \
  X(23, AuthorizationServiceMismatch, 403,                                                                             \
    "This request is not authorized to perform this operation using this service.")                                    \
  X(24, AuthorizationResourceTypeMismatch, 403,                                                                        \
    "This request is not authorized to perform this operation using this resource type.")                              \
  X(25, AuthorizationSourceIPMismatch, 403,                                                                            \
    "This request is not authorized to perform this operation using this source IP.")                                  \
  X(26, AuthorizationProtocolMismatch, 403,                                                                            \
    "This request is not authorized to perform this operation using this protocol.")                                   \
  X(27, ResourceNotFound, 404, "The specified resource does not exist.")                                               \
  X(28, UnsupportedHttpVerb, 405, "The resource doesn't support the specified HTTP verb.")                             \
  X(29, MissingContentLengthHeader, 411, "The Content-Length header was not specified.")                               \
  X(30, ConditionNotMet, 412, "The condition specified using HTTP conditional header(s) is not met.")                  \
  X(31, RequestBodyTooLarge, 413, "The request body is too large and exceeds the maximum permissible limit.")          \
  X(32, InvalidRange, 416, "The range specified is invalid for the current size of the resource.")                     \
  X(33, InternalError, 500, "The server encountered an internal error. Please retry the request.")                     \
  X(34, OperationTimedOut, 500, "The operation could not be completed within the permitted time.")                     \
  X(35, NotImplemented, 501, "The requested operation is not implemented on the specified resource.")                  \
  X(36, ServerBusy, 503, "The server is currently unable to receive requests. Please retry your request.")             \
  X(37, RequestUrlFailedToParse, 400, "The url in the request could not be parsed.")                                   \
  X(38, HeaderTooLarge, 431, "The request line and headers exceed the maximum size permitted.")                        \
  X(39, CorsPreflightFailure, 403, "CORS not enabled or no matching rule found for this request.")                     \
  X(40, MalformedRequest, 400, "The request is not valid HTTP.")                                                       \
  X(41, InsufficientAccountPermissions, 403, "Write operations to the secondary location are not allowed.")            \
  X(42, AccountRequiresHttps, 400, "The account being accessed does not support http.")                                \
  X(43, BearerTokenInvalid, 401,                                                                                       \
    "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.")      \
  /* table */                                                                                                          \
  X(100, TableNotFound, 404, "The table specified does not exist.")                                                    \
  X(101, TableAlreadyExists, 409, "The table specified already exists.")                                               \
  X(102, EntityAlreadyExists, 409, "The specified entity already exists.")                                             \
  X(103, UpdateConditionNotSatisfied, 412, "The update condition specified in the request was not satisfied.")         \
  X(104, PropertiesNeedValue, 400, "The values are not specified for all properties in the entity.")                   \
  X(105, InvalidValueType, 400, "The value specified for a property has an invalid type.")                             \
  X(106, DuplicatePropertiesSpecified, 400, "A property is specified more than one time.")                             \
  X(107, PropertyNameInvalid, 400, "The property name is invalid.")                                                    \
  X(108, PropertyNameTooLong, 400, "The property name exceeds the maximum allowed length (255).")                      \
  X(109, PropertyValueTooLarge, 400,                                                                                   \
    "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 "     \
    "encoded and the maximum number of characters should be 32K or less.")                                             \
  X(110, TooManyProperties, 400,                                                                                       \
    "The entity contains more properties than allowed. Each entity can include up to "                                 \
    "252 properties to store data. Each entity also has 3 system properties.")                                         \
  X(111, EntityTooLarge, 400, "The entity is larger than the maximum allowed size (1MB).")                             \
  X(112, InvalidDuplicateRow, 400,                                                                                     \
    "The batch request contains multiple changes with same row key. An entity can "                                    \
    "appear only once in a batch request.")                                                                            \
  X(113, CommandsInBatchActOnDifferentPartitions, 400, "All commands in a batch must operate on same entity group.")   \
  X(114, XMethodNotUsingPost, 400, "The request uses X-HTTP-Method with an HTTP verb other than POST.")                \
  X(115, XMethodIncorrectValue, 400, "The specified X-HTTP-Method is invalid.")                                        \
  X(116, XMethodIncorrectCount, 400, "More than one X-HTTP-Method is specified.")                                      \
  X(117, MethodNotAllowed, 405, "The requested method is not allowed on the specified resource.")                      \
  X(118, MediaTypeNotSupported, 415, "The requested media type is not supported. Use application/json.")               \
  X(119, AtomFormatNotSupported, 415, "Atom format is not supported. Use application/json.")                           \
  X(120, JsonFormatNotSupported, 415, "This JSON format is not supported. Use application/json;odata=nometadata.")     \
  /* queue */                                                                                                          \
  X(200, QueueNotFound, 404, "The specified queue does not exist.")                                                    \
  X(201, QueueAlreadyExists, 409, "The specified queue already exists.")                                               \
  X(202, MessageNotFound, 404, "The specified message does not exist.")                                                \
  X(203, PopReceiptMismatch, 400, "The specified pop receipt did not match the pop receipt for a dequeued message.")   \
  X(204, InvalidMarker, 400, "The specified marker is invalid.")                                                       \
  /* blob */                                                                                                           \
  X(300, ContainerNotFound, 404, "The specified container does not exist.")                                            \
  X(301, ContainerAlreadyExists, 409, "The specified container already exists.")                                       \
  X(302, BlobNotFound, 404, "The specified blob does not exist.")                                                      \
  X(303, BlobAlreadyExists, 409, "The specified blob already exists.")                                                 \
  X(304, InvalidBlobType, 409, "The blob type is invalid for this operation.")                                         \
  X(305, InvalidBlockId, 400, "The specified block ID is invalid. The block ID must be Base64-encoded.")               \
  X(306, InvalidBlockList, 400, "The specified block list is invalid.")                                                \
  X(307, InvalidBlobOrBlock, 400, "The specified blob or block content is invalid.")                                   \
  X(308, BlockListTooLong, 400, "The block list may not contain more than 50,000 blocks.")                             \
  X(309, BlockCountExceedsLimit, 409,                                                                                  \
    "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.")                                  \
  X(310, NotModified, 304, "The condition specified using HTTP conditional header(s) is not met.")                     \
  X(311, UnsatisfiableCondition, 400, "The request includes an unsatisfiable condition for this operation.")           \
  X(312, LeaseAlreadyPresent, 409, "There is already a lease present.")                                                \
  X(313, LeaseIdMissing, 412,                                                                                          \
    "There is currently a lease on the resource and no lease ID was specified in the request.")                        \
  X(314, LeaseIdMismatchWithLeaseOperation, 409,                                                                       \
    "The lease ID specified did not match the lease ID for the resource.")                                             \
  X(315, LeaseIdMismatchWithBlobOperation, 412, "The lease ID specified did not match the lease ID for the blob.")     \
  X(316, LeaseIdMismatchWithContainerOperation, 412,                                                                   \
    "The lease ID specified did not match the lease ID for the container.")                                            \
  X(317, LeaseNotPresentWithLeaseOperation, 409, "There is currently no lease on the resource.")                       \
  X(318, LeaseNotPresentWithBlobOperation, 412, "There is currently no lease on the blob.")                            \
  X(319, LeaseNotPresentWithContainerOperation, 412, "There is currently no lease on the container.")                  \
  X(320, LeaseIsBreakingAndCannotBeAcquired, 409,                                                                      \
    "The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is "           \
    "broken.")                                                                                                         \
  X(321, LeaseIsBreakingAndCannotBeChanged, 409,                                                                       \
    "The lease ID matched, but the lease is currently in breaking state and cannot be changed.")                       \
  X(322, LeaseIsBrokenAndCannotBeRenewed, 409,                                                                         \
    "The lease ID matched, but the lease has been broken explicitly and cannot be renewed.")                           \
  X(323, SnapshotsPresent, 409, "This operation is not permitted because the blob has snapshots.")                     \
  X(324, InvalidBlobTier, 400, "The specified blob tier is invalid.")                                                  \
  X(325, BlobArchived, 409, "This operation is not permitted on an archived blob.")                                    \
  X(326, AppendPositionConditionNotMet, 412, "The append position condition specified was not met.")                   \
  X(327, MaxBlobSizeConditionNotMet, 412, "The max blob size condition specified was not met.")                        \
  X(328, BlobIsSealed, 409,                                                                                            \
    "The specified blob is sealed and its contents can't be modified unless the blob is re-created after a "           \
    "delete operation.")                                                                                               \
  X(329, SequenceNumberConditionNotMet, 412, "The sequence number condition specified was not met.")                   \
  X(330, InvalidPageRange, 416, "The page range specified is invalid.")                                                \
  X(331, CannotVerifyCopySource, 404, "The specified copy source could not be verified.")                              \
  X(332, NoPendingCopyOperation, 409, "There is currently no pending copy operation.")                                 \
  X(333, SourceConditionNotMet, 412, "The source condition specified using HTTP conditional header(s) is not met.")    \
  X(334, TargetConditionNotMet, 412, "The target condition specified using HTTP conditional header(s) is not met.")    \
  X(335, TagsTooLarge, 400, "The tags specified exceed the maximum permissible limit.")                                \
  X(336, EmptyTagName, 400, "The name of one of the tag key-value pairs is empty.")                                    \
  X(337, DuplicateTagNames, 400, "The tags specified have the same name more than once.")                              \
  X(338, InvalidTag, 400, "The tags specified are invalid. They contain characters that are not permitted.")           \
  X(339, Crc64Mismatch, 400,                                                                                           \
    "The CRC64 value specified in the request did not match the CRC64 value calculated by the server.")                \
  X(340, BothCrc64AndMd5HeaderPresent, 400, "Both x-ms-content-crc64 header and Content-MD5 header are present.")      \
  X(341, SnapshotOperationRateExceeded, 409, "The blob is written by too many pieces to take another snapshot of it.") \
  X(342, InfiniteLeaseDurationRequired, 412,                                                                           \
    "The lease ID matched, but the specified lease must be an infinite-duration lease.")                               \
  X(343, PreviousSnapshotNotFound, 409, "The previous snapshot is not found.")                                         \
  X(344, PreviousSnapshotCannotBeNewer, 400,                                                                           \
    "The prevsnapshot query parameter value cannot be newer than snapshot query parameter value.")                     \
  X(345, UnauthorizedBlobOverwrite, 403, "This request is not authorized to perform blob overwrites.")                 \
  X(346, BlobOperationNotSupported, 409, "The operation is not supported in this scenario.")                           \
  /* Tidemark: between processes, and the jobs api */                                                                  \
  X(900, DeadlineExceeded, 504, "The operation did not complete before its deadline.")                                 \
  X(901, Unavailable, 503, "The service cannot be reached. Is it running?")                                            \
  X(902, Cancelled, 499, "The operation was cancelled.")                                                               \
  X(903, Fenced, 412, "A newer delivery of this operation exists, or the operation is closed.")                        \
  X(904, Corruption, 500, "Stored data does not have the expected form.")                                              \
  X(905, StorageFailure, 500, "The disk refused an operation. See the log of the service.")                            \
  X(906, LeaseLost, 412, "The lease on the message is no longer held.")                                                \
  X(907, JobNotFound, 404, "There is no such job.")                                                                    \
  X(908, JobInvalid, 400, "The job is not valid.")                                                                     \
  X(909, IdempotencyKeyReused, 409, "This idempotency key was used for a different job.")                              \
  X(910, PoisonNotFound, 404, "There is no such poison message.")                                                      \
  X(911, ConfigInvalid, 500, "The configuration is not valid.")                                                        \
  X(912, Unauthorized, 401, "A bearer token is required.")                                                             \
  X(913, SourceMissing, 404, "The source entity does not exist and no archived copy of this operation exists.")        \
  X(914, NotFound, 404, "There is no such resource.")                                                                  \
  X(915, MaxAffectedExceeded, 409, "The job would change more than its maxAffected allows.")                           \
  X(916, CanaryFailed, 409, "Jobs that were sent back first failed again.")                                            \
  X(917, JobNotEnded, 409, "The job has not ended.")                                                                   \
  X(918, ScheduleNotFound, 404, "There is no such schedule.")                                                          \
  X(919, ScheduleInvalid, 400, "The schedule is not valid.")                                                           \
  X(920, TooManySchedules, 409, "There are as many schedules as an account can have.")                                 \
  X(921, InsufficientStorage, 507,                                                                                     \
    "The disk of the service is nearly full, so it refuses writes; reads go on. Make room on the disk.")               \
  X(922, TransactionDecided, 409,                                                                                      \
    "The transaction is decided, so it goes ahead. Wait for its end, then undo what it did if you must.")              \
  X(930, CallbackFailed, 502, "The endpoint of a callback did not take it.")                                           \
  X(931, CallbackRefused, 403, "This callback is not allowed, or its endpoint refused it.")                            \
  X(940, FollowerNotFound, 404, "There is no such follower of the table.")                                             \
  X(941, TooManyFollowers, 409, "The table has as many followers as a table can have.")                                \
  X(942, ChangesExpired, 410, "The changes after this position are no longer kept. Read the table, and begin anew.")   \
  X(943, IndexNotFound, 404, "There is no such index.")                                                                \
  X(944, IndexInvalid, 400, "The index is not valid.")                                                                 \
  X(945, TooManyIndexes, 409, "There are as many indexes as an account can have.")                                     \
  X(946, FeedNotFound, 404, "The table has no change feed. Declare one with PUT /v1/tables/NAME/feed.")                \
  X(947, ConsumerNotFound, 404, "The table has no such consumer group.")                                               \
  X(948, ConsumerInUse, 409, "Another reader has the consumer group.")                                                 \
  X(949, TooManyConsumers, 409, "The table has as many consumer groups as a table can have.")                          \
  X(950, OnChangeNotFound, 404, "The table has no such declaration of what follows its changes.")                      \
  X(951, OnChangeInvalid, 400, "The declaration is not valid.")                                                        \
  X(952, TooManyOnChanges, 409, "There are as many declarations of what follows changes as there can be.")

namespace tidemark {

enum class ErrorCode : std::uint16_t {
#define X(number, name, status, text) k##name = number,
  TIDEMARK_ERROR_CODES(X)
#undef X
};

unsigned http_status_of(ErrorCode code) noexcept;
std::string_view azure_name_of(ErrorCode code) noexcept;
std::string_view default_message_of(ErrorCode code) noexcept;
/// The code with this number, if there is one (numbers arrive from other processes).
std::optional<ErrorCode> error_code_from_number(std::uint16_t number) noexcept;

}  // namespace tidemark
