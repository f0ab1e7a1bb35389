using System.Globalization;
using Azure;
using Azure.Data.Tables;
using static Tidemark.Tests.Tables.Clients;

namespace Tidemark.Tests.Tables;

/// Filters as LINQ, as CreateQueryFilter and as text; pages and continuation.
public sealed class Queries(Queries.Samples samples) : IClassFixture<Queries.Samples>
{
    static readonly Guid SomeGuid = Guid.Parse("0d391d16-97f1-4b9a-be68-4cc871f90001");
    static readonly DateTimeOffset Noon = new(2024, 6, 1, 12, 0, 0, TimeSpan.Zero);

    public sealed class Sample : ITableEntity
    {
        public string PartitionKey { get; set; } = "p";
        public string RowKey { get; set; } = "";
        public DateTimeOffset? Timestamp { get; set; }
        public ETag ETag { get; set; }
        public string? Name { get; set; }
        public int Int { get; set; }
        public long Long { get; set; }
        public double Double { get; set; }
        public bool Bool { get; set; }
        public DateTimeOffset Date { get; set; }
        public Guid Guid { get; set; }
        public byte[]? Bytes { get; set; }
    }

    /// Ten entities 0 to 9, with values that grow.
    public sealed class Samples : IAsyncLifetime
    {
        public TableClient Table { get; } = Clients.Table(Stores.FreshName());

        public async ValueTask InitializeAsync()
        {
            await Table.CreateAsync();
            await Table.SubmitTransactionAsync(Enumerable.Range(0, 10).Select(i => Add(new Sample
            {
                RowKey = $"{i}", Name = i == 5 ? "it's" : $"name{i}", Int = i, Long = i * 10_000_000_000L, Double = i / 2.0, Bool = i % 2 == 0,
                Date = Noon.AddHours(i), Guid = i == 5 ? SomeGuid : new Guid(i, 0, 0, new byte[8]), Bytes = [(byte)i, 7],
            })));
        }

        public async ValueTask DisposeAsync() => await Table.DeleteAsync();
    }

    readonly TableClient table = samples.Table;

    Task Finds(string expected, string filter) => FindsText(expected, filter);

    async Task FindsText(string expected, string filter) => Assert.Equal(expected, await table.RowKeys(filter));

    async Task Finds(string expected, FormattableString filter) => await FindsText(expected, TableClient.CreateQueryFilter(filter));

    async Task Finds(string expected, System.Linq.Expressions.Expression<Func<Sample, bool>> filter)
    {
        Assert.Equal(expected, string.Join(" ", (await table.QueryAsync(filter).ToList()).Select(e => e.RowKey)));
        // The text of the same filter finds the same.
        Assert.Equal(expected, await table.RowKeys(TableClient.CreateQueryFilter(filter)));
    }

    [Fact] public Task Linq_equality_of_keys() => Finds("5", e => e.PartitionKey == "p" && e.RowKey == "5");
    [Fact] public Task Linq_comparison_of_strings() => Finds("3 4", e => e.RowKey.CompareTo("3") >= 0 && string.Compare(e.RowKey, "5") < 0);
    [Fact] public Task Linq_a_quote() => Finds("5", e => e.Name == "it's");
    [Fact] public Task Linq_Int32() => Finds("8 9", e => e.Int > 7);
    [Fact] public Task Linq_Int64() => Finds("0 1", e => e.Long < 20_000_000_000L);
    [Fact] public Task Linq_Int64_that_is_small() => Finds("0", e => e.Long <= 5L);
    [Fact] public Task Linq_Double() => Finds("8 9", e => e.Double >= 4.0);
    [Fact] public Task Linq_Double_with_a_fraction() => Finds("1", e => e.Double == 0.5);
    [Fact] public Task Linq_Double_that_is_large() => Finds("0 1 2 3 4 5 6 7 8 9", e => e.Double < 1e20);
    [Fact] public Task Linq_Bool() => Finds("0 2 4 6 8", e => e.Bool == true);
    [Fact] public Task Linq_Bool_alone() => Finds("0 2 4 6 8", e => e.Bool);
    [Fact] public Task Linq_not() => Finds("1 3 5 7 9", e => !e.Bool);
    [Fact] public Task Linq_not_of_a_comparison() => Finds("0 1", e => !(e.Int > 1));
    [Fact] public Task Linq_or() => Finds("0 9", e => e.Int == 0 || e.Int == 9);
    [Fact] public Task Linq_precedence() => Finds("1 3 9", e => (e.Int < 5 || e.Int == 9) && !e.Bool);
    [Fact] public Task Linq_unequal() => Finds("0 1 2 3 4 6 7 8 9", e => e.Int != 5);

    [Fact]
    public async Task Linq_Guid()
    {
        var guid = SomeGuid;
        await Finds("5", e => e.Guid == guid);
    }

    [Fact]
    public async Task Linq_dates()
    {
        var from = Noon.AddHours(3);
        var to = Noon.AddHours(5).AddTicks(1);
        await Finds("3 4 5", e => e.Date >= from && e.Date < to);
    }

    [Fact]
    public async Task Linq_dates_of_another_zone()
    {
        var from = Noon.AddHours(8).ToOffset(TimeSpan.FromHours(-7));
        await Finds("8 9", e => e.Date >= from);
    }

    [Fact]
    public async Task Linq_bytes()
    {
        byte[] bytes = [5, 7];
        await Finds("5", e => e.Bytes == bytes);
    }

    [Fact]
    public async Task Linq_over_TableEntity()
    {
        var found = await table.QueryAsync<TableEntity>(e => e.PartitionKey == "p" && e.GetInt32("Int") >= 8 && e.GetBoolean("Bool") == false).ToList();
        Assert.Equal("9", Assert.Single(found).RowKey);
    }

    [Fact]
    public async Task The_timestamp()
    {
        await Finds("0 1 2 3 4 5 6 7 8 9", (FormattableString)$"Timestamp gt {DateTimeOffset.UtcNow.AddHours(-1)}");
        await Finds("", (FormattableString)$"Timestamp gt {DateTimeOffset.UtcNow.AddHours(1)}");
    }

    [Fact] public Task Text_with_a_quote() => Finds("5", (FormattableString)$"Name eq {"it's"}");
    [Fact] public Task An_Int32() => Finds("3", (FormattableString)$"Int eq {3}");
    [Fact] public Task An_Int64() => Finds("3", (FormattableString)$"Long eq {30_000_000_000L}");
    [Fact] public Task An_Int64_against_an_Int32_by_value() => Finds("0 1 2", (FormattableString)$"Int lt {3L}");
    [Fact] public Task A_Double_that_is_whole() => Finds("7 8 9", (FormattableString)$"Double gt {3.0}");
    [Fact] public Task A_Double_with_a_fraction() => Finds("5", (FormattableString)$"Double eq {2.5}");
    [Fact] public Task A_Double_with_an_exponent() => Finds("0 1 2 3 4 5 6 7 8 9", (FormattableString)$"Double lt {1e20}");
    [Fact] public Task A_Double_that_is_negative() => Finds("0 1 2 3 4 5 6 7 8 9", (FormattableString)$"Double gt {-1.5e-7}");
    [Fact] public Task A_Bool() => Finds("1 3 5 7 9", (FormattableString)$"Bool eq {false}");
    [Fact] public Task A_Guid() => Finds("5", (FormattableString)$"Guid eq {SomeGuid}");
    [Fact] public Task A_date() => Finds("0", (FormattableString)$"Date eq {Noon}");
    [Fact] public Task A_DateTime() => Finds("9", (FormattableString)$"Date ge {Noon.AddHours(9).UtcDateTime}");

    // The SDK writes each byte with two decimal digits, so only bytes below ten find what they should.
    [Fact] public Task Bytes() => Finds("5", (FormattableString)$"Bytes eq {new byte[] { 5, 7 }}");

    [Fact] public Task Bytes_as_text() => Finds("5", "Bytes eq X'0507'");
    [Fact] public Task Bytes_by_their_longer_name() => Finds("5", "Bytes eq binary'0507'");
    [Fact] public Task A_property_that_nobody_has() => Finds("", "Nobody eq 1");
    [Fact] public Task Not_a_property_that_nobody_has() => Finds("0 1 2 3 4 5 6 7 8 9", "not (Nobody eq 1)");
    [Fact] public Task A_type_that_does_not_match() => Finds("", "Name eq 5");
    [Fact] public Task A_prefix() => Finds("0 1 2 3 4 6 7 8 9", "Name ge 'name' and Name lt 'namf'");
    [Fact] public Task A_filter_without_spaces_around_parentheses() => Finds("0 9", "(Int eq 0)or(Int eq 9)");

    [Theory]
    [InlineData("Int gt 3000000000")]
    [InlineData("Int eq")]
    [InlineData("Name eq 'unclosed")]
    [InlineData("(Int eq 1")]
    [InlineData("Guid eq guid'nonsense'")]
    [InlineData("Date eq datetime'yesterday'")]
    public async Task A_bad_filter(string filter) => await Refused.With(400, "InvalidInput", () => table.Find(filter));

    [Fact]
    public async Task A_function_is_not_implemented() =>
        await Refused.With(501, "NotImplemented", () => table.Find("substringof('a', Name)"));

    [Fact]
    public async Task Infinite_doubles()
    {
        // This SDK cannot write them, but reads those of others.
        var own = await Created(Stores.FreshName());
        await Assert.ThrowsAsync<ArgumentException>(() => own.AddEntityAsync(new TableEntity("p", "x") { ["D"] = double.PositiveInfinity }));
        var signed = own.GenerateSasUri(Azure.Data.Tables.Sas.TableSasPermissions.Add, DateTimeOffset.UtcNow.AddHours(1));
        using var http = new HttpClient();
        foreach (var (row, value) in new[] { ("a", "Infinity"), ("b", "-Infinity"), ("c", "NaN"), ("d", "1.0") })
        {
            var json = $$"""{"PartitionKey":"p","RowKey":"{{row}}","D@odata.type":"Edm.Double","D":"{{value}}"}""";
            using var request = new HttpRequestMessage(HttpMethod.Post, signed) { Content = new StringContent(json, System.Text.Encoding.UTF8, "application/json") };
            request.Headers.Add("Accept", "application/json;odata=nometadata");
            using var answer = await http.SendAsync(request);
            Assert.Equal(System.Net.HttpStatusCode.Created, answer.StatusCode);
        }
        Assert.Equal([double.PositiveInfinity, double.NegativeInfinity, double.NaN, 1.0],
            (await own.QueryAsync<TableEntity>().ToList()).Select(e => e.GetDouble("D")!.Value));
        Assert.Equal("a d", await own.RowKeys(TableClient.CreateQueryFilter($"D gt {0.5}")));
        Assert.Equal("b", await own.RowKeys(TableClient.CreateQueryFilter($"D lt {double.MinValue}")));
        Assert.Equal("a", await own.RowKeys("D eq INF"));
        await own.DeleteAsync();
    }

    [Fact]
    public async Task Select_some_properties()
    {
        var found = await table.QueryAsync<Sample>("RowKey eq '5'", select: ["Name", "Double"]).ToList();
        var one = Assert.Single(found);
        Assert.Equal(("it's", 2.5, 0, Guid.Empty), (one.Name, one.Double, one.Int, one.Guid));
    }

    [Fact]
    public async Task Select_a_property_that_nobody_has()
    {
        var found = Assert.Single(await table.Find("RowKey eq '5'", "RowKey", "Nobody"));
        Assert.Equal("5", found.RowKey);
        Assert.Null(found["Nobody"]);
    }

    [Fact]
    public async Task Pages_of_three()
    {
        var sizes = new List<int>();
        await foreach (var page in table.QueryAsync<Sample>(maxPerPage: 3).AsPages()) sizes.Add(page.Values.Count);
        Assert.Equal([3, 3, 3, 1], sizes);
    }

    [Fact]
    public async Task A_page_can_be_asked_for_later_by_its_token()
    {
        string? token = null;
        var keys = new List<string>();
        do
        {
            // Each page by a client of its own, as a web page's Next button does it.
            await foreach (var page in Clients.Table(table.Name).QueryAsync<Sample>(e => e.Int > 0, maxPerPage: 4).AsPages(token))
            {
                keys.AddRange(page.Values.Select(e => e.RowKey));
                token = page.ContinuationToken;
                break;
            }
        } while (token is not null);
        Assert.Equal("123456789", string.Concat(keys));
    }

    [Fact]
    public async Task A_thousand_and_more_over_odd_partitions()
    {
        var own = await Created(Stores.FreshName());
        string[] partitions = ["", "it's", "\u65e5\u672c", "a b", "z"];
        await Task.WhenAll(partitions.SelectMany(partition => Enumerable.Range(0, 250).Chunk(100).Select(some =>
            own.SubmitTransactionAsync(some.Select(i => Add(new TableEntity(partition, Padded(i)) { ["I"] = i }))))));
        var pages = new List<int>();
        var keys = new List<(string, string)>();
        await foreach (var page in own.QueryAsync<TableEntity>().AsPages())
        {
            pages.Add(page.Values.Count);
            keys.AddRange(page.Values.Select(e => (e.PartitionKey, e.RowKey)));
        }
        Assert.Equal((1250, 1250), (keys.Count, keys.Distinct().Count()));
        Assert.All(pages, size => Assert.InRange(size, 0, 1000));
        Assert.Equal(partitions.Order(StringComparer.Ordinal), keys.Select(key => key.Item1).Distinct());
        // A filter over all of them goes through several pages, some of which may be empty.
        Assert.Equal(5, (await own.QueryAsync<TableEntity>(e => e.GetInt32("I") == 249).ToList()).Count);
        await own.DeleteAsync();
    }

    [Fact]
    public async Task More_than_a_thousand_to_a_page_is_refused() =>
        await Refused.With(400, "InvalidInput", () => table.QueryAsync<Sample>(maxPerPage: 1001).ToList());

    [Fact]
    public async Task Entities_that_are_deleted_while_pages_are_read()
    {
        var own = await Created(Stores.FreshName());
        await own.SubmitTransactionAsync(Enumerable.Range(0, 100).Select(i => Add(new TableEntity("p", Padded(i)))));
        var seen = 0;
        await foreach (var page in own.QueryAsync<TableEntity>(maxPerPage: 10).AsPages())
        {
            seen += page.Values.Count;
            await own.SubmitTransactionAsync(page.Values.Select(e => Delete(e.PartitionKey, e.RowKey, e.ETag)));
        }
        Assert.Equal(100, seen);
        Assert.Empty(await own.QueryAsync<TableEntity>().ToList());
        await own.DeleteAsync();
    }

    [Fact]
    public async Task A_hundred_pairs_of_keys_in_one_filter()
    {
        // Orleans' grain directory asks like this.
        var filter = string.Join(" or ", Enumerable.Range(0, 100).Select(i =>
            string.Create(CultureInfo.InvariantCulture, $"((PartitionKey eq 'p') and (RowKey eq '{(i < 10 ? $"{i}" : $"missing-{i}-{SomeGuid}")}'))")));
        await Finds("0 1 2 3 4 5 6 7 8 9", filter);
    }
}
