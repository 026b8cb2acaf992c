package protocol

// SerializeType says how a command's header is encoded. Its value is the fifth byte of the frame.
type SerializeType byte

// The encodings of a header. JSON is the default everywhere: the C++ client reads nothing else.
const (
	JSON     SerializeType = 0
	RocketMQ SerializeType = 1
)

// String returns the stock name, as used by the setting rocketmq.serialize.type.
func (t SerializeType) String() string {
	if t == RocketMQ {
		return "ROCKETMQ"
	}
	return "JSON"
}

// Version ordinals of RocketMQ's MQVersion: what a peer reports in its header.
const (
	Version = 479 // what this server reports: 5.3.3, the level of the protocol it follows

	V3_0_11 = 37  // from here on a registration carries filter servers around its topic table
	V4_9_4  = 401 // from here on a client takes the Standard dialect
	V5_0_0  = 413 // from here on a compressed registration ends with static topics
	V5_3_1  = 475 // above it a peer understands GO_AWAY

	// MaxVersion is the newest ordinal there is (HIGHER_VERSION); a greater one in a header counts as this one.
	MaxVersion = 612
)

// The bits of Command.Flag.
const (
	FlagResponse int32 = 1 << 0 // the command answers one that the receiver sent
	FlagOneWay   int32 = 1 << 1 // the command is not to be answered, not even with an error
)

// Command is one frame: a request, or the answer to one.
type Command struct {
	Code     Code
	Language Language
	Version  int32 // ordinal of the sender's release; at most MaxVersion once decoded, and may be negative
	Opaque   int32 // pairs an answer with its request; chosen by the requester, any value
	Flag     int32
	Remark   string // "" stands for null: it is not sent

	// ExtFields are the named values of the header. nil means none; an empty map that is not nil is written to JSON
	// as `"extFields":{}`, which the stock server does for answers that have a typed header without a value.
	ExtFields map[string]string

	Body      []byte // nil means no body; an empty one cannot be told from it on the wire
	Serialize SerializeType
}

// OneWay reports whether the command must not be answered.
func (c *Command) OneWay() bool { return c.Flag&FlagOneWay != 0 }

// IsResponse reports whether the command is an answer.
func (c *Command) IsResponse() bool { return c.Flag&FlagResponse != 0 }

// Field returns the named value of the header and whether it was there.
func (c *Command) Field(name string) (string, bool) {
	v, ok := c.ExtFields[name]
	return v, ok
}

// NewResponse returns an answer in this server's name: Java and Version, as the stock server says of itself. Opaque is
// left for whoever knows the request.
func NewResponse(code Code, remark string) *Command {
	return &Command{Code: code, Language: Java, Version: Version, Flag: FlagResponse, Remark: remark}
}
