// Command driver is a driver plugin on the public plugin library, github.com/hashicorp/go-plugin. It runs a command as
// its own child. The services come from the .proto files of libs/plugins, whose directory is the first argument.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bufbuild/protocompile"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

type task struct {
	cmd  *exec.Cmd
	done chan struct{}
}

var (
	mu    sync.Mutex
	tasks = map[string]*task{}
)

var errNotFound = status.Error(codes.Unknown, "rpc error: task not found for given id")

func find(m *dynamicpb.Message) (*task, error) {
	mu.Lock()
	defer mu.Unlock()
	t, ok := tasks[text(m, "task_id")]
	if !ok {
		return nil, errNotFound
	}
	return t, nil
}

func field(m protoreflect.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

func text(m *dynamicpb.Message, name string) string { return field(m, name).String() }

// answer makes a message from JSON.
func answer(out protoreflect.MessageDescriptor, json string) (*dynamicpb.Message, error) {
	m := dynamicpb.NewMessage(out)
	return m, protojson.Unmarshal([]byte(json), m)
}

const info = `{"type": "DRIVER", "plugin_api_versions": ["v0.1.0"], "plugin_version": "0.3.0", "name": "go_command"}`
const configSchema = `{"spec": {"object": {"attributes": {
	"greeting": {"Attr": {"name": "greeting", "type": "string", "required": true}}}}}}`
const taskSchema = `{"spec": {"object": {"attributes": {
	"command": {"Attr": {"name": "command", "type": "string", "required": true}},
	"args": {"Attr": {"name": "args", "type": "list(string)"}}}}}}`

var greeting string

func unary(method string, in *dynamicpb.Message, out protoreflect.MessageDescriptor) (*dynamicpb.Message, error) {
	switch method {
	case "PluginInfo":
		return answer(out, info)
	case "ConfigSchema":
		return answer(out, configSchema)
	case "TaskConfigSchema":
		return answer(out, taskSchema)
	case "Capabilities":
		return answer(out, `{"capabilities": {"send_signals": true}}`)
	case "SetConfig":
		var config map[string]any
		if err := msgpack.Unmarshal(field(in, "msgpack_config").Bytes(), &config); err != nil {
			return nil, err
		}
		greeting = config["greeting"].(string)
		return dynamicpb.NewMessage(out), nil
	case "Init":
		// The library passes prints on in a stream, and blocks here if nobody reads it.
		fmt.Print(strings.Repeat("a line that the plugin prints\n", 35_000))
		return dynamicpb.NewMessage(out), nil
	case "Shutdown":
		return dynamicpb.NewMessage(out), nil
	case "StartTask":
		return start(in, out)
	case "WaitTask":
		t, err := find(in)
		if err != nil {
			return nil, err
		}
		<-t.done
		return answer(out, fmt.Sprintf(`{"result": {"exit_code": %d}}`, t.cmd.ProcessState.ExitCode()))
	case "StopTask":
		t, err := find(in)
		if err != nil {
			return nil, err
		}
		_ = t.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-t.done:
		case <-time.After(time.Second):
			_ = t.cmd.Process.Kill()
			<-t.done
		}
		return dynamicpb.NewMessage(out), nil
	case "DestroyTask":
		if _, err := find(in); err != nil {
			return nil, err
		}
		mu.Lock()
		delete(tasks, text(in, "task_id"))
		mu.Unlock()
		return dynamicpb.NewMessage(out), nil
	}
	return nil, status.Error(codes.Unimplemented, method)
}

func start(in *dynamicpb.Message, out protoreflect.MessageDescriptor) (*dynamicpb.Message, error) {
	config := field(in, "task").Message()
	var given struct {
		Command string   `msgpack:"command"`
		Args    []string `msgpack:"args"`
	}
	if err := msgpack.Unmarshal(field(config, "msgpack_driver_config").Bytes(), &given); err != nil {
		return nil, err
	}
	cmd := exec.Command(given.Command, given.Args...)
	cmd.Env = append(cmd.Env, "GREETING="+greeting)
	field(config, "env").Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		cmd.Env = append(cmd.Env, k.String()+"="+v.String())
		return true
	})
	cmd.Dir = filepath.Join(field(config, "alloc_dir").String(), field(config, "name").String())
	stdout, err := os.OpenFile(field(config, "stdout_path").String(), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	cmd.Stdout = stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &task{cmd: cmd, done: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(t.done) }()
	mu.Lock()
	tasks[field(config, "id").String()] = t
	mu.Unlock()
	result := dynamicpb.NewMessage(out)
	handle := result.Mutable(out.Fields().ByName("handle")).Message()
	handle.Set(handle.Descriptor().Fields().ByName("config"), protoreflect.ValueOfMessage(config))
	handle.Set(handle.Descriptor().Fields().ByName("driver_state"), protoreflect.ValueOfBytes([]byte{0, 255, 1}))
	return result, nil
}

func stream(method string, s grpc.ServerStream, out protoreflect.MessageDescriptor) error {
	if method != "Fingerprint" {
		return status.Error(codes.Unimplemented, method)
	}
	m, err := answer(out, `{"health": "HEALTHY", "health_description": "Healthy", "attributes": {
		"driver.go_command": {"bool_val": true}, "driver.go_command.memory": {"int_val": "64", "unit": "MiB"}}}`)
	if err != nil {
		return err
	}
	if err := s.SendMsg(m); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

func describe(sd protoreflect.ServiceDescriptor) *grpc.ServiceDesc {
	desc := &grpc.ServiceDesc{ServiceName: string(sd.FullName()), HandlerType: (*any)(nil)}
	for i := 0; i < sd.Methods().Len(); i++ {
		m := sd.Methods().Get(i)
		name := string(m.Name())
		if m.IsStreamingServer() {
			desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: name, ServerStreams: true,
				ClientStreams: m.IsStreamingClient(),
				Handler: func(_ any, s grpc.ServerStream) error {
					if err := s.RecvMsg(dynamicpb.NewMessage(m.Input())); err != nil {
						return err
					}
					return stream(name, s, m.Output())
				}})
			continue
		}
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: name,
			Handler: func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				in := dynamicpb.NewMessage(m.Input())
				if err := dec(in); err != nil {
					return nil, err
				}
				out, err := unary(name, in, m.Output())
				if err != nil {
					return nil, err
				}
				return proto.Message(out), nil
			}})
	}
	return desc
}

type service struct {
	plugin.NetRPCUnsupportedPlugin
	descs []*grpc.ServiceDesc
}

func (s *service) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	for _, d := range s.descs {
		server.RegisterService(d, struct{}{})
	}
	return nil
}

func (s *service) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this is a server")
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: driver PROTO_DIR")
		os.Exit(1)
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(
		&protocompile.SourceResolver{ImportPaths: []string{os.Args[1]}})}
	files, err := compiler.Compile(context.Background(), "base.proto", "driver.proto")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	own := &service{}
	for _, f := range files {
		for i := 0; i < f.Services().Len(); i++ {
			own.descs = append(own.descs, describe(f.Services().Get(i)))
		}
	}
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, JSONFormat: true, Name: "go_command"})
	logger.Warn("the plugin starts", "files", len(files))
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  2,
			MagicCookieKey:   "NOMAD_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
		},
		Plugins:    map[string]plugin.Plugin{"base": own},
		GRPCServer: plugin.DefaultGRPCServer,
		Logger:     logger,
	})
}
